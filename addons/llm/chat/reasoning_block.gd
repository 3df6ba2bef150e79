@tool
extends VBoxContainer
## What the model thinks before it answers: in sight while it comes, folded when the answer begins.

## The keyboard's focus came to this [param button].
signal button_focused(button: Control)

const OPEN_ICON: Texture2D = preload("icons/chevron.svg")
const FOLDED_ICON: Texture2D = preload("icons/folded.svg")

## Between the first piece and the end.
var is_thinking: bool = false

var _began_ms: int = 0
var _is_chosen: bool = false  # the user has opened or folded it

@onready var _fold: Button = %Fold
@onready var _panel: PanelContainer = %Panel
@onready var _text: RichTextLabel = %Text


func _ready() -> void:
	_fold.toggled.connect(_on_fold_toggled)
	_fold.focus_entered.connect(button_focused.emit.bind(_fold))


## Adds a piece of what is thought now.
func append_text(piece: String) -> void:
	if not visible:
		_began_ms = Time.get_ticks_msec()
		_show_open(true)
	show()
	is_thinking = true
	_fold.text = "Thinking…"
	_text.add_text(piece)


## The model has thought; a later piece goes on.
func finish() -> void:
	if not is_thinking:
		return
	is_thinking = false
	var seconds: int = maxi(roundi((Time.get_ticks_msec() - _began_ms) / 1000.0), 1)
	_fold.text = "Thought for %d s" % seconds
	if not _is_chosen:
		_show_open(false)


## Shows what was thought at another time; how long that took is not known.
func show_past(thoughts: String) -> void:
	show()
	_fold.text = "Thoughts"
	_text.add_text(thoughts)
	_show_open(false)


func _show_open(is_open: bool) -> void:
	_fold.set_pressed_no_signal(is_open)
	_fold.icon = OPEN_ICON if is_open else FOLDED_ICON
	_panel.visible = is_open


func _on_fold_toggled(is_open: bool) -> void:
	_is_chosen = true
	_show_open(is_open)
