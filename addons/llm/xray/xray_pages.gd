class_name XRayPages
extends Control
## The pages of the key/value cache: this conversation's own, filled as far as they are used, those
## that others have, and free ones.

const SIDE: float = 15.0
const GAP: float = 4.0
const MOST_SHOWN: int = 256

var _pages: Dictionary = {}


func _notification(what: int) -> void:
	if what == NOTIFICATION_THEME_CHANGED or what == NOTIFICATION_RESIZED:
		_measure()


## As [signal LLM.xrayed] tells of them; empty clears.
func show_pages(pages: Dictionary) -> void:
	_pages = pages
	_measure()


## In words.
func summary() -> String:
	if _pages.is_empty():
		return ""
	var own: PackedInt32Array = _pages["own"]
	var users: PackedByteArray = _pages["users"]
	var shared: int = 0
	for page: int in own:
		shared += int(users[page] > 1)
	var used: String = "1 page" if own.size() == 1 else "%d pages" % own.size()
	var words: PackedStringArray = ["%d tokens in %s" % [_pages["cells"], used]]
	var free: int = users.count(0)
	var counts: Dictionary[String, int] = {
		"shared": shared, "others'": users.size() - free - own.size(), "free": free
	}
	for what: String in counts:
		if counts[what] > 0:
			words.append("%d %s" % [counts[what], what])
	return "  ·  ".join(words)


func _draw() -> void:
	if _pages.is_empty():
		return
	var users: PackedByteArray = _pages["users"]
	var own: PackedInt32Array = _pages["own"]
	for page: int in mini(users.size(), MOST_SHOWN):
		var place: Rect2 = _place(page)
		var number: int = own.find(page)
		if number >= 0:
			_draw_own(place, number, users[page] > 1)
		elif users[page] > 0:
			draw_rect(place, Color(XRayPalette.text(self), 0.3))
		else:
			draw_rect(place.grow(-0.5), XRayPalette.faint(self), false, 1.0)


## Filled from the bottom; with a bar beside where others have it too.
func _draw_own(place: Rect2, number: int, is_shared: bool) -> void:
	var size_of_page: int = _pages["page_cells"]
	var used: int = clampi(_pages["cells"] - number * size_of_page, 0, size_of_page)
	var height: float = place.size.y * used / size_of_page
	var color: Color = XRayPalette.second(self) if is_shared else XRayPalette.accent(self)
	draw_rect(Rect2(place.position.x, place.end.y - height, place.size.x, height), color)
	draw_rect(place.grow(-0.5), color, false, 1.0)


func _get_tooltip(at_position: Vector2) -> String:
	if _pages.is_empty():
		return ""
	var users: PackedByteArray = _pages["users"]
	for page: int in mini(users.size(), MOST_SHOWN):
		if _place(page).grow(GAP / 2.0).has_point(at_position):
			var number: int = (_pages["own"] as PackedInt32Array).find(page)
			var whose: String = "free" if users[page] == 0 else "of %d others" % users[page]
			if number >= 0:
				whose = "the %d. of this conversation" % (number + 1)
				if users[page] > 1:
					whose += ", and of %d others" % (users[page] - 1)
			return "page %d: %s" % [page, whose]
	return ""


func _place(page: int) -> Rect2:
	var columns: int = _columns()
	var step: float = SIDE + GAP
	@warning_ignore("integer_division")
	return Rect2(page % columns * step, page / columns * step, SIDE, SIDE)


func _columns() -> int:
	return maxi(int((size.x + GAP) / (SIDE + GAP)), 1)


func _measure() -> void:
	var count: int = 0 if _pages.is_empty() else mini(_pages["users"].size(), MOST_SHOWN)
	@warning_ignore("integer_division")
	var lines: int = (count + _columns() - 1) / _columns()
	custom_minimum_size.y = lines * (SIDE + GAP)
	queue_redraw()
