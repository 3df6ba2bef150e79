@tool
class_name XRayHeads
extends Control
## What each head of a layer looks at: a row for each, with a bar for each token of the text, and
## the token that has most. A click selects a head.

signal head_selected(head: int)

const GAP: float = 8.0
const ROW_GAP: float = 4.0
const MOST_ROWS: float = 2.5  # that one may take
const NARROWEST: float = 90.0  # of the bars
const WORD_WIDTH: float = 130.0  # of the token that has most
const WORD_SHARE: float = 0.3  # of all, at most

var selection: int = -1:
	set = _set_selection

var _heads: Array[PackedFloat32Array] = []
var _texts: PackedStringArray = []
var _box: StyleBoxFlat = StyleBoxFlat.new()


func _init() -> void:
	_box.set_corner_radius_all(3)


func _notification(what: int) -> void:
	if what == NOTIFICATION_THEME_CHANGED or what == NOTIFICATION_RESIZED:
		_measure()


## Of one layer, and the text that they look at.
func show_heads(heads: Array[PackedFloat32Array], texts: PackedStringArray) -> void:
	_heads = heads
	_texts = texts
	_measure()


func _draw() -> void:
	for head: int in _heads.size():
		_draw_head(head)


func _draw_head(head: int) -> void:
	var font: Font = get_theme_default_font()
	var small: int = XRayPalette.small_size(self)
	var row: Rect2 = Rect2(0.0, head * _row_height(), size.x, _row_height() - ROW_GAP)
	if head == selection:
		_box.bg_color = Color(XRayPalette.accent(self), 0.16)
		draw_style_box(_box, row)
	var base: float = row.get_center().y + XRayPalette.middle(font, small)
	var ink: Color = XRayPalette.text(self) if head == selection else XRayPalette.muted(self)
	var at: Vector2 = Vector2(6.0, base)
	draw_string(font, at, "head %d" % head, HORIZONTAL_ALIGNMENT_LEFT, -1.0, small, ink)
	var bars: Rect2 = _bars(head)
	draw_rect(bars, XRayPalette.faint(self) * Color(1.0, 1.0, 1.0, 0.5))
	_draw_bars(bars, _heads[head], head == selection)
	var most: int = XRayAttention.largest_index(_heads[head])
	if most >= 0 and most < _texts.size():
		var word: String = XRayRecord.shown(_texts[most]).strip_edges()
		var told: String = "%s  %s" % [XRayCandidates.percent(_heads[head][most]), word]
		at.x = bars.end.x + GAP
		var room: float = size.x - at.x
		draw_string(font, at, told, HORIZONTAL_ALIGNMENT_LEFT, room, small, XRayPalette.text(self))


## Of each token; where there are more than pixels, of the largest of some.
func _draw_bars(place: Rect2, shares: PackedFloat32Array, is_marked: bool) -> void:
	var most: float = maxf(XRayAttention.largest(shares), 1e-6)
	var columns: int = mini(shares.size(), int(place.size.x))
	var step: float = place.size.x / maxi(columns, 1)
	var color: Color = Color(XRayPalette.accent(self), 1.0 if is_marked else 0.75)
	for column: int in columns:
		@warning_ignore("integer_division")
		var from: int = column * shares.size() / columns
		@warning_ignore("integer_division")
		var end: int = (column + 1) * shares.size() / columns
		var share: float = 0.0
		for index: int in range(from, end):
			share = maxf(share, shares[index])
		var height: float = place.size.y * minf(share / most, 1.0)
		var width: float = maxf(step - 1.0, 1.0)
		var bar: Rect2 = Rect2(
			place.position.x + column * step, place.end.y - height, width, height
		)
		draw_rect(bar, XRayPalette.second(self) if from == 0 else color)


func _gui_input(event: InputEvent) -> void:
	var click: InputEventMouseButton = event as InputEventMouseButton
	if click != null and click.pressed and click.button_index == MOUSE_BUTTON_LEFT:
		var head: int = int(click.position.y / _row_height())
		if head < _heads.size():
			head_selected.emit(head if head != selection else -1)


func _get_tooltip(at_position: Vector2) -> String:
	var head: int = int(at_position.y / _row_height())
	if head >= _heads.size():
		return ""
	var bars: Rect2 = _bars(head)
	var shares: PackedFloat32Array = _heads[head]
	var part: float = (at_position.x - bars.position.x) / bars.size.x
	if part < 0.0 or part >= 1.0:
		return "Select head %d" % head
	var index: int = int(part * shares.size())
	return "“%s”: %s" % [XRayRecord.shown(_texts[index]), XRayCandidates.percent(shares[index])]


func _bars(head: int) -> Rect2:
	var font: Font = get_theme_default_font()
	var widest: String = "head %d" % maxi(_heads.size() - 1, 10)
	var small: int = XRayPalette.small_size(self)
	var left: float = font.get_string_size(widest, HORIZONTAL_ALIGNMENT_LEFT, -1.0, small).x + 6.0
	left += GAP
	var right: float = minf(WORD_WIDTH, size.x * WORD_SHARE) + GAP
	var top: float = head * _row_height() + 1.0
	return Rect2(left, top, maxf(size.x - left - right, 1.0), _row_height() - ROW_GAP - 2.0)


## Where there is room for more, few heads take it.
func _row_height() -> float:
	var least: float = _least_row_height()
	return clampf(size.y / maxi(_heads.size(), 1), least, MOST_ROWS * least)


func _least_row_height() -> float:
	return get_theme_default_font().get_height(get_theme_default_font_size()) + 2.0 * ROW_GAP


func _measure() -> void:
	var least: Vector2 = Vector2.ZERO
	if not _heads.is_empty():
		least = Vector2(NARROWEST, _heads.size() * _least_row_height())
	custom_minimum_size = least
	queue_redraw()


func _set_selection(head: int) -> void:
	selection = head
	queue_redraw()
