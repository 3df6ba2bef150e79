@tool
class_name XRayTokens
extends Control
## A text as the pieces that a model reads and writes, each in a box. One of them is selected, by
## the mouse or the arrow keys.
##
## Of a long text only the lines that its parent shows are drawn, and a token that comes changes
## nothing of those before it.

signal selected(index: int)

const PADDING: Vector2 = Vector2(3.0, 2.0)
const GAP: Vector2 = Vector2(2.0, 5.0)

var selection: int = -1:
	set = _set_selection
## Says what the mouse points at: a [Callable] that takes an index and returns a String.
var describe: Callable
## What lies behind a token: a [Callable] that takes an index and returns a Color.
var color_of: Callable
## Whether each token's number stands below it.
var shows_numbers: bool = false:
	set = _set_shows_numbers

var _texts: PackedStringArray = []
var _numbers: PackedInt32Array = []
var _answer_from: int = 0
var _boxes: Array[Rect2] = []
var _lines: PackedInt32Array = []  # of each, its first token
var _box: StyleBoxFlat = StyleBoxFlat.new()


func _init() -> void:
	focus_mode = Control.FOCUS_ALL
	_box.set_corner_radius_all(4)
	item_rect_changed.connect(queue_redraw)  # other lines are seen


func _notification(what: int) -> void:
	match what:
		NOTIFICATION_RESIZED, NOTIFICATION_THEME_CHANGED:
			_lay_out()
		NOTIFICATION_FOCUS_ENTER, NOTIFICATION_FOCUS_EXIT:
			queue_redraw()


## Another text. Those tokens from [param answer_from] on are the model's own.
func begin(texts: PackedStringArray, numbers: PackedInt32Array, answer_from: int) -> void:
	_texts = texts.duplicate()
	_numbers = numbers.duplicate()
	_answer_from = answer_from
	_lay_out()


## One more token.
func add(text: String, number: int) -> void:
	_texts.append(text)
	_numbers.append(number)
	_place_next()
	_measure()


## Where a token is; empty where there is no such token.
func box_of(index: int) -> Rect2:
	return _boxes[index] if index >= 0 and index < _boxes.size() else Rect2()


func _draw() -> void:
	if _lines.is_empty():
		return
	var top: float = -position.y
	var bottom: float = top + get_parent_area_size().y
	var first: int = clampi(int(top / _line_height()), 0, _lines.size() - 1)
	var last: int = clampi(int(bottom / _line_height()), 0, _lines.size() - 1)
	var end: int = _lines[last + 1] if last + 1 < _lines.size() else _boxes.size()
	for index: int in range(_lines[first], end):
		_draw_token(index)


func _draw_token(index: int) -> void:
	var font: Font = get_theme_default_font()
	var ink: Color = XRayPalette.text(self)
	_box.bg_color = color_of.call(index) if color_of.is_valid() else Color.TRANSPARENT
	_box.border_color = XRayPalette.faint(self)
	_box.set_border_width_all(1 if index >= _answer_from else 0)
	if index == selection:
		_box.border_color = ink if has_focus() else XRayPalette.accent(self)
		_box.set_border_width_all(2)
	draw_style_box(_box, _boxes[index])
	var font_size: int = get_theme_default_font_size()
	var at: Vector2 = _boxes[index].position + PADDING
	at.y += font.get_ascent(font_size)
	var text: String = XRayRecord.shown(_texts[index])
	draw_string(font, at, text, HORIZONTAL_ALIGNMENT_LEFT, -1.0, font_size, ink)
	if shows_numbers:
		var small: int = XRayPalette.small_size(self)
		at.y = _boxes[index].end.y - PADDING.y - font.get_descent(small)
		var muted: Color = XRayPalette.muted(self)
		draw_string(font, at, str(_numbers[index]), HORIZONTAL_ALIGNMENT_LEFT, -1.0, small, muted)


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


func _at(point: Vector2) -> int:
	var line: int = int(point.y / _line_height())
	if point.y < 0.0 or line >= _lines.size():
		return -1
	var end: int = _lines[line + 1] if line + 1 < _lines.size() else _boxes.size()
	for index: int in range(_lines[line], end):
		if _boxes[index].has_point(point):
			return index
	return -1


func _lay_out() -> void:
	_boxes.clear()
	_lines.clear()
	for _token: String in _texts:
		_place_next()
	_measure()


## Behind those that have a place: in their line, unless it is full or ends there.
func _place_next() -> void:
	var index: int = _boxes.size()
	var width: float = _width(index)
	var left: float = 0.0
	if index > 0:
		left = _boxes[index - 1].end.x + GAP.x
	if index == 0 or left + width > size.x or _texts[index - 1].contains("\n"):
		_lines.append(index)
		left = 0.0
	var top: float = (_lines.size() - 1) * _line_height()
	_boxes.append(Rect2(left, top, width, _line_height() - GAP.y))


func _width(index: int) -> float:
	var font: Font = get_theme_default_font()
	var font_size: int = get_theme_default_font_size()
	var text: String = XRayRecord.shown(_texts[index])
	var width: float = font.get_string_size(text, HORIZONTAL_ALIGNMENT_LEFT, -1.0, font_size).x
	if shows_numbers:
		var small: int = XRayPalette.small_size(self)
		var number: String = str(_numbers[index])
		var other: Vector2 = font.get_string_size(number, HORIZONTAL_ALIGNMENT_LEFT, -1.0, small)
		width = maxf(width, other.x)
	return width + 2.0 * PADDING.x


func _line_height() -> float:
	var font: Font = get_theme_default_font()
	var height: float = font.get_height(get_theme_default_font_size()) + 2.0 * PADDING.y + GAP.y
	return height + (font.get_height(XRayPalette.small_size(self)) if shows_numbers else 0.0)


func _measure() -> void:
	custom_minimum_size.y = maxf(_lines.size() * _line_height() - GAP.y, 0.0)
	queue_redraw()


func _set_selection(index: int) -> void:
	selection = index
	queue_redraw()


func _set_shows_numbers(value: bool) -> void:
	if shows_numbers != value:
		shows_numbers = value
		_lay_out()
