class_name XRayCandidates
extends Control
## The tokens that might have come: a row for each, and for each sampler a column of bars that say
## how likely they are after it.

const TITLES: Dictionary[String, String] = {
	"model": "the model",
	"logit_bias": "biases",
	"top_n_sigma": "top-nσ",
	"top_k": "top-k",
	"typical_p": "typical",
	"top_p": "top-p",
	"min_p": "min-p",
	"dry": "DRY",
	"xtc": "XTC",
}
const ROW_GAP: float = 4.0
const COLUMN_GAP: float = 8.0
const NARROWEST: float = 66.0  # of a column
const WIDEST: float = 240.0
const LABEL_WIDTHS: Vector2 = Vector2(48.0, 150.0)  # least and most

## How many columns are shown, from the first; 0: all.
var stages_shown: int = 0:
	set = _set_stages_shown

var _choice: Dictionary = {}
var _most: float = 1.0  # the largest of all probabilities
var _box: StyleBoxFlat = StyleBoxFlat.new()


func _init() -> void:
	_box.set_corner_radius_all(3)


func _notification(what: int) -> void:
	if what == NOTIFICATION_THEME_CHANGED or what == NOTIFICATION_RESIZED:
		_measure()


## As [signal LLM.xrayed] tells of a token; empty clears.
func show_choice(choice: Dictionary) -> void:
	_choice = choice
	_most = 1e-9
	for candidate: Dictionary in choice.get("candidates", []):
		for likely: float in candidate["probabilities"]:
			_most = maxf(_most, likely)
	_measure()


## How many stages there are to be shown.
func stage_count() -> int:
	return 0 if _choice.is_empty() else (_choice["stages"] as Array).size()


func _draw() -> void:
	if _choice.is_empty():
		return
	var font: Font = get_theme_default_font()
	var font_size: int = get_theme_default_font_size()
	var row: float = _row_height()
	var top: float = _header_height()
	var labels: float = _label_width()
	var candidates: Array = _choice["candidates"]
	_box.bg_color = Color(XRayPalette.accent(self), 0.16)
	draw_style_box(_box, Rect2(0.0, top, size.x, row))  # the first is the one that was chosen
	for index: int in candidates.size():
		var base: float = top + index * row + font.get_ascent(font_size) + ROW_GAP / 2.0
		var text: String = XRayRecord.shown(candidates[index]["text"])
		draw_string(
			font,
			Vector2(6.0, base),
			text,
			HORIZONTAL_ALIGNMENT_LEFT,
			labels - 6.0,
			font_size,
			XRayPalette.text(self)
		)
	for stage: int in _columns():
		_draw_column(stage, labels + COLUMN_GAP + stage * (_column_width() + COLUMN_GAP))


func _draw_column(stage: int, left: float) -> void:
	var font: Font = get_theme_default_font()
	var small: int = _small_size()
	var told: Dictionary = _choice["stages"][stage]
	var width: float = _column_width()
	var lines: PackedStringArray = [
		TITLES.get(told["name"], told["name"]),
		"%s left" % grouped(told["left"]),
		"%.2f bits" % told["entropy"],
	]
	for line: int in lines.size():
		var ink: Color = XRayPalette.text(self) if line == 0 else XRayPalette.muted(self)
		var base: Vector2 = Vector2(left, line * font.get_height(small) + font.get_ascent(small))
		draw_string(font, base, lines[line], HORIZONTAL_ALIGNMENT_LEFT, width, small, ink)
	var row: float = _row_height()
	var candidates: Array = _choice["candidates"]
	for index: int in candidates.size():
		var likely: float = candidates[index]["probabilities"][stage]
		var place: Rect2 = Rect2(left, _header_height() + index * row + 1.0, width, row - 2.0)
		_draw_bar(place, likely, index == 0)


## All bars have one scale, by which the longest fills its column.
func _draw_bar(place: Rect2, likely: float, is_chosen: bool) -> void:
	var font: Font = get_theme_default_font()
	var small: int = _small_size()
	_box.bg_color = XRayPalette.faint(self) * Color(1.0, 1.0, 1.0, 0.5)
	draw_style_box(_box, place)
	if likely > 0.0:
		_box.bg_color = Color(XRayPalette.accent(self), 0.75 if is_chosen else 0.4)
		var length: float = maxf(place.size.x * likely / _most, 2.0)
		draw_style_box(_box, Rect2(place.position, Vector2(length, place.size.y)))
	var rise: float = (font.get_ascent(small) - font.get_descent(small)) / 2.0
	draw_string(
		font,
		Vector2(place.position.x + 6.0, place.get_center().y + rise),
		"–" if likely <= 0.0 else percent(likely),
		HORIZONTAL_ALIGNMENT_LEFT,
		-1.0,
		small,
		XRayPalette.text(self) if likely > 0.0 else XRayPalette.muted(self)
	)


## As people read it: three digits at most.
static func percent(likely: float) -> String:
	if likely < 0.0005:
		return "<0.1%"
	return "%.1f%%" % (likely * 100.0) if likely < 0.0995 else "%.0f%%" % (likely * 100.0)


static func grouped(number: int) -> String:
	var digits: String = str(number)
	var place: int = digits.length() - 3
	while place > 0:
		digits = digits.insert(place, ",")
		place -= 3
	return digits


func _measure() -> void:
	var least: Vector2 = Vector2.ZERO
	if not _choice.is_empty():
		least.x = _label_width() + _columns() * (NARROWEST + COLUMN_GAP)
		least.y = _header_height() + (_choice["candidates"] as Array).size() * _row_height()
	custom_minimum_size = least
	queue_redraw()


func _columns() -> int:
	return mini(stage_count(), stages_shown) if stages_shown > 0 else stage_count()


func _column_width() -> float:
	var room: float = (size.x - _label_width()) / maxi(_columns(), 1) - COLUMN_GAP
	return clampf(room, NARROWEST, WIDEST)


func _label_width() -> float:
	var widest: float = 0.0
	for candidate: Dictionary in _choice["candidates"]:
		var text: String = XRayRecord.shown(candidate["text"])
		var found: Vector2 = get_theme_default_font().get_string_size(
			text, HORIZONTAL_ALIGNMENT_LEFT, -1.0, get_theme_default_font_size()
		)
		widest = maxf(widest, found.x)
	return clampf(widest + 12.0, LABEL_WIDTHS.x, LABEL_WIDTHS.y)


func _header_height() -> float:
	return 3.0 * get_theme_default_font().get_height(_small_size()) + 8.0


func _row_height() -> float:
	return get_theme_default_font().get_height(get_theme_default_font_size()) + ROW_GAP


func _small_size() -> int:
	return maxi(get_theme_default_font_size() - 3, 9)


func _set_stages_shown(count: int) -> void:
	stages_shown = count
	_measure()
