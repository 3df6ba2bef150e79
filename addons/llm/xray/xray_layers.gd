class_name XRayLayers
extends Control
## What each part of the model takes: upwards how long for a token, downwards how much memory. A
## click selects a layer.

signal layer_selected(layer: int)

const GAP: float = 2.0
const LEAST_HEIGHT: float = 130.0
const MEGABYTE: float = 1e6
const CUT: float = 1.05  # times the largest layer
const HEAD: String = "head"

var selection: int = -1:
	set = _set_selection

var _parts: Array = []
var _cells: int = 0
var _hovered: int = -1


func _init() -> void:
	custom_minimum_size.y = LEAST_HEIGHT


func _notification(what: int) -> void:
	if what == NOTIFICATION_THEME_CHANGED or what == NOTIFICATION_RESIZED:
		queue_redraw()
	elif what == NOTIFICATION_MOUSE_EXIT:
		_hovered = -1
		queue_redraw()


## As [signal LLM.xrayed] tells of layers.
func show_parts(parts: Array) -> void:
	_parts = parts
	queue_redraw()


## Tokens in the key/value cache, which takes memory for each.
func show_cells(cells: int) -> void:
	_cells = cells
	queue_redraw()


## Bytes of weights, cache and recurrent state.
func memory_of(part: Dictionary) -> int:
	return part["weight_bytes"] + part["cell_bytes"] * _cells + part["state_bytes"]


func _draw() -> void:
	if _parts.is_empty():
		return
	var font: Font = get_theme_default_font()
	var small: int = maxi(get_theme_default_font_size() - 3, 9)
	var line: float = font.get_height(small)
	var most: Vector2 = _largest_layer()
	var room: float = (size.y - 3.0 * line) / 2.0  # above and below the names
	var middle: float = line + room
	for index: int in _parts.size():
		var part: Dictionary = _parts[index]
		var column: Rect2 = _column(index)
		var is_marked: bool = index == _hovered or (part["layer"] == selection and selection >= 0)
		if is_marked:
			draw_rect(Rect2(column.position.x, 0.0, column.size.x, size.y), XRayPalette.faint(self))
		var alpha: float = 1.0 if is_marked else 0.75
		var up: float = part["seconds"] / most.x
		var down: float = memory_of(part) / most.y
		var edge: Vector2 = Vector2(column.position.x, middle)
		_draw_bar(edge, column.size.x, -room, up, Color(XRayPalette.accent(self), alpha))
		edge.y += line
		_draw_bar(edge, column.size.x, room, down, Color(XRayPalette.second(self), alpha))
	_draw_names(middle, font, small)
	var muted: Color = XRayPalette.muted(self)
	var top: Vector2 = Vector2(0.0, font.get_ascent(small))
	draw_string(font, top, _times(), HORIZONTAL_ALIGNMENT_LEFT, size.x, small, muted)
	var bottom: Vector2 = Vector2(0.0, size.y - font.get_descent(small))
	draw_string(font, bottom, _memories(), HORIZONTAL_ALIGNMENT_LEFT, size.x, small, muted)


## From an edge upwards where [param room] is negative. What is larger than any layer is cut, which
## two gaps tell.
func _draw_bar(edge: Vector2, width: float, room: float, part: float, color: Color) -> void:
	draw_rect(Rect2(edge, Vector2(width, room * minf(part, 1.0))).abs(), color)
	if part > CUT:
		for place: float in [0.72, 0.82] as Array[float]:
			var gap: Rect2 = Rect2(edge + Vector2(0.0, room * place), Vector2(width, room * 0.04))
			draw_rect(gap.abs(), get_theme_stylebox(&"panel", &"Panel").get(&"bg_color"))


## Every fifth layer has a name, and what is none, where there is room for it.
func _draw_names(middle: float, font: Font, font_size: int) -> void:
	var ink: Color = XRayPalette.muted(self)
	var base: float = middle + font.get_ascent(font_size)
	var end: float = -1.0
	var of_head: Vector2 = font.get_string_size(HEAD, HORIZONTAL_ALIGNMENT_LEFT, -1.0, font_size)
	for index: int in _parts.size():
		var layer: int = _parts[index]["layer"]
		var text: String = str(layer) if layer >= 0 else str(_parts[index]["name"])
		var width: float = font.get_string_size(text, HORIZONTAL_ALIGNMENT_LEFT, -1.0, font_size).x
		var left: float = clampf(_column(index).get_center().x - width / 2.0, 0.0, size.x - width)
		var is_head: bool = text == HEAD
		if layer % 5 == 0 and left > end and left + width < size.x - of_head.x or is_head:
			var at: Vector2 = Vector2(left, base)
			draw_string(font, at, text, HORIZONTAL_ALIGNMENT_LEFT, -1.0, font_size, ink)
			end = left + width + 4.0


## The most seconds and bytes of one.
func _largest_layer() -> Vector2:
	var most: Vector2 = Vector2(1e-9, 1.0)
	for part: Dictionary in _parts:
		if part["layer"] >= 0:
			most = most.max(Vector2(part["seconds"], memory_of(part)))
	return most


func _times() -> String:
	var layers: float = 0.0
	var rest: float = 0.0
	for part: Dictionary in _parts:
		if part["layer"] >= 0:
			layers += part["seconds"]
		else:
			rest += part["seconds"]
	return "a token: layers %s, the rest %s" % [milliseconds(layers), milliseconds(rest)]


func _memories() -> String:
	var layers: int = 0
	var rest: int = 0
	var cache: int = 0
	for part: Dictionary in _parts:
		cache += memory_of(part) - part["weight_bytes"]
		if part["layer"] >= 0:
			layers += part["weight_bytes"]
		else:
			rest += part["weight_bytes"]
	return (
		"layers %s, the rest %s, cache %s" % [megabytes(layers), megabytes(rest), megabytes(cache)]
	)


func _gui_input(event: InputEvent) -> void:
	var motion: InputEventMouseMotion = event as InputEventMouseMotion
	if motion != null:
		_hovered = _at(motion.position)
		queue_redraw()
	var click: InputEventMouseButton = event as InputEventMouseButton
	if click != null and click.pressed and click.button_index == MOUSE_BUTTON_LEFT:
		var index: int = _at(click.position)
		if index >= 0 and _parts[index]["heads"] > 0:
			layer_selected.emit(_parts[index]["layer"])


func _get_tooltip(at_position: Vector2) -> String:
	var index: int = _at(at_position)
	if index < 0:
		return ""
	var part: Dictionary = _parts[index]
	var lines: PackedStringArray = [
		part["name"],
		"%s for a token" % milliseconds(part["seconds"]),
		"%s of weights" % megabytes(part["weight_bytes"]),
	]
	if part["cell_bytes"] > 0:
		lines.append("%s of keys and values" % megabytes(part["cell_bytes"] * _cells))
	if part["state_bytes"] > 0:
		lines.append("%s of state" % megabytes(part["state_bytes"]))
	if part["heads"] > 0:
		var seen: String = "all tokens" if part["window"] == 0 else "%d tokens" % part["window"]
		lines.append("%d heads, which see %s" % [part["heads"], seen])
	return "\n".join(lines)


static func milliseconds(seconds: float) -> String:
	return ("%.2f ms" if seconds < 0.01 else "%.1f ms") % (seconds * 1000.0)


static func megabytes(bytes: int) -> String:
	return "%.1f MB" % (bytes / MEGABYTE) if bytes >= MEGABYTE / 10.0 else "%.0f KB" % (bytes / 1e3)


func _column(index: int) -> Rect2:
	var step: float = size.x / _parts.size()
	return Rect2(index * step + GAP / 2.0, 0.0, maxf(step - GAP, 1.0), size.y)


func _at(point: Vector2) -> int:
	if _parts.is_empty() or point.x < 0.0 or point.x >= size.x:
		return -1
	return int(point.x / size.x * _parts.size())


func _set_selection(layer: int) -> void:
	selection = layer
	queue_redraw()
