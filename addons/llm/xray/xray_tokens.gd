class_name XRayTokens
extends Control
## A text as the pieces that a model reads and writes, each in a box. One of them is selected, by
## the mouse or the arrow keys.

signal selected(index: int)

const PADDING: Vector2 = Vector2(3.0, 2.0)
const GAP: Vector2 = Vector2(2.0, 5.0)
const LINE_END: String = "⏎"

var selection: int = -1:
	set = _set_selection
## Says what the mouse points at: a [Callable] that takes an index and returns a String.
var describe: Callable

var _texts: PackedStringArray = []
var _widths: PackedFloat32Array = []
var _colors: PackedColorArray = []
var _boxes: Array[Rect2] = []
var _answer_from: int = 0
var _box: StyleBoxFlat = StyleBoxFlat.new()


func _init() -> void:
	focus_mode = Control.FOCUS_ALL
	_box.set_corner_radius_all(4)


func _notification(what: int) -> void:
	match what:
		NOTIFICATION_RESIZED:
			_lay_out()
		NOTIFICATION_THEME_CHANGED:
			_widths.clear()
			_lay_out()
		NOTIFICATION_FOCUS_ENTER, NOTIFICATION_FOCUS_EXIT:
			queue_redraw()


## Those from [param answer_from] on are the model's own.
func show_texts(texts: PackedStringArray, answer_from: int) -> void:
	if texts.size() < _texts.size() or answer_from != _answer_from:
		_widths.clear()
	_texts = texts.duplicate()
	_answer_from = answer_from
	_lay_out()


## What lies behind each.
func show_colors(colors: PackedColorArray) -> void:
	_colors = colors
	queue_redraw()


## Where a token is; empty where there is no such token.
func box_of(index: int) -> Rect2:
	return _boxes[index] if index >= 0 and index < _boxes.size() else Rect2()


func _draw() -> void:
	var font: Font = get_theme_default_font()
	var font_size: int = get_theme_default_font_size()
	var ink: Color = XRayPalette.text(self)
	for index: int in _boxes.size():
		var is_own: bool = index >= _answer_from
		_box.bg_color = _colors[index] if index < _colors.size() else Color.TRANSPARENT
		_box.border_color = XRayPalette.faint(self)
		_box.set_border_width_all(1 if is_own else 0)
		if index == selection:
			_box.border_color = ink if has_focus() else XRayPalette.accent(self)
			_box.set_border_width_all(2)
		draw_style_box(_box, _boxes[index])
		var start: Vector2 = _boxes[index].position + PADDING
		start.y += font.get_ascent(font_size)
		draw_string(
			font,
			start,
			XRayRecord.shown(_texts[index]),
			HORIZONTAL_ALIGNMENT_LEFT,
			-1.0,
			font_size,
			ink
		)


func _gui_input(event: InputEvent) -> void:
	var click: InputEventMouseButton = event as InputEventMouseButton
	if click != null and click.pressed and click.button_index == MOUSE_BUTTON_LEFT:
		grab_focus()
		_select(_at(click.position))
		return
	for action: StringName in [&"ui_left", &"ui_right", &"ui_home", &"ui_end"] as Array[StringName]:
		if event.is_action_pressed(action, true):
			var last: int = _texts.size() - 1
			var steps: Dictionary[StringName, int] = {
				&"ui_left": maxi(selection - 1, 0),
				&"ui_right": mini(selection + 1, last),
				&"ui_home": 0,
				&"ui_end": last,
			}
			_select(steps[action])
			accept_event()


func _get_tooltip(at_position: Vector2) -> String:
	var index: int = _at(at_position)
	return describe.call(index) if index >= 0 and describe.is_valid() else ""


func _select(index: int) -> void:
	if index >= 0 and index < _texts.size():
		selection = index
		selected.emit(index)


func _set_selection(index: int) -> void:
	selection = index
	queue_redraw()


func _at(point: Vector2) -> int:
	for index: int in _boxes.size():
		if _boxes[index].has_point(point):
			return index
	return -1


func _lay_out() -> void:
	var font: Font = get_theme_default_font()
	var font_size: int = get_theme_default_font_size()
	for index: int in range(_widths.size(), _texts.size()):
		var text: String = XRayRecord.shown(_texts[index])
		var width: float = font.get_string_size(text, HORIZONTAL_ALIGNMENT_LEFT, -1.0, font_size).x
		_widths.append(width + 2.0 * PADDING.x)
	var height: float = font.get_height(font_size) + 2.0 * PADDING.y
	_boxes.clear()
	var place: Vector2 = Vector2.ZERO
	for index: int in _texts.size():
		if place.x > 0.0 and place.x + _widths[index] > size.x:
			place = Vector2(0.0, place.y + height + GAP.y)
		_boxes.append(Rect2(place, Vector2(_widths[index], height)))
		place.x += _widths[index] + GAP.x
		if _texts[index].contains("\n"):
			place = Vector2(0.0, place.y + height + GAP.y)
	custom_minimum_size.y = 0.0 if _boxes.is_empty() else _boxes[-1].end.y
	queue_redraw()
