@tool
extends PanelContainer
## Where the user types. Emits what to send; never talks to the model itself.
##
## Enter sends and Shift+Enter starts a new line; the box grows with its text.

## The user asked to send [param text], which is never empty.
signal submitted(text: String)
## The user asked to stop the running answer.
signal stop_requested
## The user asked to move the conversation by [param pages], up where negative.
signal scroll_requested(pages: float)
## The user asked, with nothing typed, to edit the latest question.
signal edit_requested

const SEND_ICON: Texture2D = preload("icons/send.svg")
const STOP_ICON: Texture2D = preload("icons/stop.svg")
const MAX_LINES: int = 8
## Most of the window's height that the text takes.
const MAX_SHARE: float = 0.35
const CHAT_HELP: String = "The model answers you. Press to have it continue your text instead."
const CONTINUE_HELP: String = "The model continues your text. Press to chat with it instead."

## Whether there is a button that has the text continued.
@export var can_continue: bool = true

## While an answer is running, the button stops it instead of sending.
var busy: bool = false:
	set = _set_busy
## Whether the text is to be continued as it stands, or else answered as in a chat.
var continues_text: bool = false:
	set = _set_continues_text
## What is typed.
var text: String:
	get:
		return _input.text
	set(value):
		_input.text = value
		_input.set_caret_line(_input.get_line_count() - 1)
		_input.set_caret_column(_input.get_line(_input.get_line_count() - 1).length())
		_on_text_changed()

var _sent: PackedStringArray = []
var _recalled: int = 0  # which of them is in the box; behind the last is what was typed
var _typed: String = ""
var _draft: String = ""  # what was typed before a message is edited

@onready var _input: TextEdit = %Input
@onready var _mode: Button = %Mode
@onready var _button: Button = %Send


func _ready() -> void:
	_input.gui_input.connect(_on_input_gui_input)
	_input.text_changed.connect(_on_text_changed)
	_input.resized.connect(_fit_height)
	get_viewport().size_changed.connect(_fit_height)
	_input.focus_entered.connect(_show_focus.bind(true))
	_input.focus_exited.connect(_show_focus.bind(false))
	_mode.toggled.connect(_set_continues_text)
	_button.pressed.connect(_on_button_pressed)
	_mode.visible = can_continue
	_set_continues_text(false)
	_set_busy(false)
	_fit_height()


## Puts the caret here.
func focus_input() -> void:
	_input.grab_focus()


## Has [param message] edited; what is typed comes back with [method end_edit].
func edit(message: String) -> void:
	_draft = text
	text = message
	focus_input()


func end_edit() -> void:
	text = _draft
	_draft = ""


func _submit() -> void:
	var question: String = _input.text.strip_edges()
	if busy or question.is_empty():
		return
	if _sent.is_empty() or _sent[-1] != question:
		_sent.append(question)
	_recalled = _sent.size()
	_typed = ""
	text = ""
	submitted.emit(question)


## What was sent before, or by [param step] 1 after what is in the box.
func _recall(step: int) -> void:
	var next: int = clampi(_recalled + step, 0, _sent.size())
	if next == _recalled:
		return
	if _recalled == _sent.size():
		_typed = text
	_recalled = next
	text = _typed if next == _sent.size() else _sent[next]


func _set_busy(value: bool) -> void:
	busy = value
	_button.icon = STOP_ICON if busy else SEND_ICON
	_button.tooltip_text = "Stop the answer (Esc)" if busy else "Send (Enter)"
	_on_text_changed()


func _set_continues_text(value: bool) -> void:
	continues_text = value
	_mode.set_pressed_no_signal(value)
	_mode.text = "Continue" if value else "Chat"
	_mode.tooltip_text = CONTINUE_HELP if value else CHAT_HELP
	_input.placeholder_text = "Write the beginning of a text" if value else "Write a message"


func _show_focus(has_it: bool) -> void:
	theme_type_variation = &"PromptPanelFocus" if has_it else &"PromptPanel"


func _fit_height() -> void:
	if not is_inside_tree():  # as where leaving stops an answer
		return
	var room: float = get_viewport_rect().size.y * MAX_SHARE
	var most: int = clampi(int(room / _input.get_line_height()), 1, MAX_LINES)
	var lines: int = clampi(_input.get_total_visible_line_count(), 1, most)
	var frame: float = _input.get_theme_stylebox(&"normal").get_minimum_size().y
	_input.custom_minimum_size.y = lines * _input.get_line_height() + frame


func _on_text_changed() -> void:
	_button.disabled = not busy and _input.text.strip_edges().is_empty()
	_fit_height()


func _on_button_pressed() -> void:
	if busy:
		stop_requested.emit()
	else:
		_submit()


func _on_input_gui_input(event: InputEvent) -> void:
	var key: InputEventKey = event as InputEventKey
	if key == null or not key.pressed or _input.has_ime_text():
		return
	match key.keycode:
		KEY_ENTER, KEY_KP_ENTER:
			if key.shift_pressed:
				_input.insert_text_at_caret("\n")
			elif not key.echo:
				_submit()
		KEY_TAB:  # moves on, as everywhere else, instead of typing a tab
			var next: Control = (
				_input.find_prev_valid_focus()
				if key.shift_pressed
				else _input.find_next_valid_focus()
			)
			next.grab_focus()
		KEY_UP when key.is_command_or_control_pressed():
			_recall(-1)
		KEY_DOWN when key.is_command_or_control_pressed():
			_recall(1)
		KEY_UP when _input.text.is_empty():
			edit_requested.emit()
		KEY_PAGEUP:
			scroll_requested.emit(-1.0)
		KEY_PAGEDOWN:
			scroll_requested.emit(1.0)
		_:
			return
	_input.accept_event()
