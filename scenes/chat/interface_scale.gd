class_name InterfaceScale
extends Node
## Makes everything larger or smaller: to suit the screen at first, then with Ctrl and +, - or 0.

const STEP: float = 0.125
const LOWEST: float = 0.75
const HIGHEST: float = 4.0
## Dots per inch at which nothing is scaled.
const USUAL_DPI: float = 96.0
## Smallest window that the chat is made for, at scale 1.
const MIN_WINDOW: Vector2i = Vector2i(480, 360)

var _first: float = 1.0

@onready var _window: Window = get_window()


func _ready() -> void:
	_first = _screen_scale()
	if not is_equal_approx(_window.content_scale_factor, _first):
		_window.size = Vector2i(Vector2(_window.size) * _first)
	_apply(_first)


func _unhandled_key_input(event: InputEvent) -> void:
	var key: InputEventKey = event as InputEventKey
	if not key.pressed or not key.is_command_or_control_pressed():
		return
	match key.keycode:
		KEY_PLUS, KEY_EQUAL, KEY_KP_ADD:
			_apply(_window.content_scale_factor + STEP)
		KEY_MINUS, KEY_KP_SUBTRACT:
			_apply(_window.content_scale_factor - STEP)
		KEY_0, KEY_KP_0:
			_apply(_first)
		_:
			return
	get_viewport().set_input_as_handled()


func _apply(factor: float) -> void:
	_window.content_scale_factor = clampf(factor, LOWEST, HIGHEST)
	_window.min_size = Vector2i(Vector2(MIN_WINDOW) * minf(_first, factor))


# Some platforms tell a scale; on the others it follows from the screen's density.
func _screen_scale() -> float:
	var told: float = DisplayServer.screen_get_scale(_window.current_screen)
	if told > 1.0:
		return told
	var dense: float = DisplayServer.screen_get_dpi(_window.current_screen) / USUAL_DPI
	return maxf(snappedf(dense, 0.25), 1.0)
