class_name TopBar
extends PanelContainer
## The bar with the model's name, how it runs, how fast, and how full its context is.

## The user wants to pick a model file.
signal open_requested
## The user wants to begin a new conversation.
signal new_chat_requested
## The user opens or closes the settings.
signal settings_toggled(is_open: bool)
## The user opens or closes the look inside.
signal xray_toggled(is_open: bool)

## Below this width the context is told in the status line alone, without its own meter.
const METER_MIN_WIDTH: float = 640.0

## What the button of the settings shows.
var is_settings_open: bool = false:
	set(value):
		is_settings_open = value
		_settings.set_pressed_no_signal(value)
## What the button of the X-ray shows.
var is_xray_open: bool = false:
	set(value):
		is_xray_open = value
		_xray.set_pressed_no_signal(value)

@onready var _model: Button = %Model
@onready var _status: Label = %Status
@onready var _meter: ProgressBar = %ContextMeter
@onready var _new_chat: Button = %NewChat
@onready var _settings: Button = %Settings
@onready var _xray: Button = %XRay
@onready var _progress: ProgressBar = %LoadProgress


func _ready() -> void:
	_model.pressed.connect(open_requested.emit)
	_new_chat.pressed.connect(new_chat_requested.emit)
	_settings.toggled.connect(settings_toggled.emit)
	_xray.toggled.connect(xray_toggled.emit)
	resized.connect(_on_resized)


## Names the open model; [param path] is what the tooltip tells.
func show_model(title: String, path: String) -> void:
	_model.text = title
	_model.tooltip_text = "%s\nOpen another model" % path if path else "Open a model"


## One line on what is going on.
func show_status(text: String) -> void:
	_status.text = text
	_status.tooltip_text = text


## How much of the model file is loaded, from 0 to 1; 1 takes the bar away.
func show_load_progress(fraction: float) -> void:
	_progress.value = fraction
	_progress.self_modulate.a = 0.0 if fraction >= 1.0 else 1.0


## How many of the context's tokens are in use.
func show_context(used: int, total: int) -> void:
	_meter.max_value = maxi(total, 1)
	_meter.value = used
	_meter.tooltip_text = "%d of %d tokens of context used" % [used, total]


func _on_resized() -> void:
	_meter.visible = size.x >= METER_MIN_WIDTH
