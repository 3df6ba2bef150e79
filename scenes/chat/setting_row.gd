class_name SettingRow
extends VBoxContainer
## Edits one setting with the control that its kind asks for.

## The user changed the value.
signal changed(value: Variant)

## Numbers in a span up to this get a slider as well.
const SLIDER_SPAN: float = 2.0

## The value on show. Setting it does not emit [signal changed].
var value: Variant:
	set = _set_value

var _row: ChatSettings.Row
var _is_quiet: bool = false

@onready var _label: Label = %Label
@onready var _help: Label = %Help
@onready var _number: SpinBox = %Number
@onready var _slider: HSlider = %Slider
@onready var _choice: OptionButton = %Choice
@onready var _text: TextEdit = %Text
@onready var _switch: CheckButton = %Switch


func _ready() -> void:
	_number.value_changed.connect(_emit_number)
	_choice.item_selected.connect(_emit_choice)
	_text.text_changed.connect(_emit_text)
	_switch.toggled.connect(_emit)
	_text.gui_input.connect(_on_text_gui_input)


## Becomes the editor of [param row]. To be called once, in the tree.
func edit(row: ChatSettings.Row) -> void:
	_row = row
	_label.text = row.label
	_help.text = row.help
	_number.visible = row.kind == ChatSettings.Kind.NUMBER
	_choice.visible = row.kind == ChatSettings.Kind.CHOICE
	_text.visible = row.kind == ChatSettings.Kind.TEXT
	_switch.visible = row.kind == ChatSettings.Kind.SWITCH
	_slider.visible = _number.visible and row.high - row.low <= SLIDER_SPAN
	_is_quiet = true
	if _number.visible:
		_number.min_value = row.low
		_number.max_value = row.high
		_number.step = row.step
		if _slider.visible:
			_number.share(_slider)
	for choice: Variant in row.choices:
		_choice.add_item(str(choice))
	_is_quiet = false


func _set_value(new_value: Variant) -> void:
	value = new_value
	_is_quiet = true
	match _row.kind:
		ChatSettings.Kind.NUMBER:
			_number.value = new_value
		ChatSettings.Kind.CHOICE:
			_choice.select(_choice_index(new_value))
		ChatSettings.Kind.SWITCH:
			_switch.set_pressed_no_signal(new_value)
		ChatSettings.Kind.TEXT:
			if _text.text != new_value:
				_text.text = new_value
	_is_quiet = false


# A value from elsewhere, such as the command line, joins the choices.
func _choice_index(choice: Variant) -> int:
	for index: int in _choice.item_count:
		if _choice.get_item_text(index) == str(choice):
			return index
	_choice.add_item(str(choice))
	return _choice.item_count - 1


func _emit_number(number: float) -> void:
	_emit(int(number) if _row.step == floorf(_row.step) else snappedf(number, _row.step))


func _emit_choice(index: int) -> void:
	_emit(_row.parse(_choice.get_item_text(index)))


func _emit_text() -> void:
	_emit(_text.text)


func _emit(new_value: Variant) -> void:
	if not _is_quiet:
		value = new_value
		changed.emit(new_value)


func _on_text_gui_input(event: InputEvent) -> void:
	if event.is_action_pressed(&"ui_focus_next"):
		_text.find_next_valid_focus().grab_focus()
	elif event.is_action_pressed(&"ui_focus_prev"):
		_text.find_prev_valid_focus().grab_focus()
	else:
		return
	_text.accept_event()
