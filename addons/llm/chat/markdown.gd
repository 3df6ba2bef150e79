@tool
extends RefCounted
## Markdown as models write it: prose that becomes BBCode, and code between it.

## A [RichTextLabel] is laid out anew with each piece of its text, so that one that grows longer
## than this goes on in another, at the next paragraph.
const LONG_PROSE: int = 2000
## A line that is longer is shown as it stands: what looks for marks takes its square in time.
const LONGEST_LINE: int = 4000
const HEADING_SIZES: PackedFloat32Array = [1.35, 1.2, 1.1, 1.0, 1.0, 1.0]
const TAGS: Dictionary[String, String] = {
	"strong": "b", "strong2": "b", "soft": "i", "soft2": "i", "gone": "s"
}
const BULLETS: PackedStringArray = ["•", "◦", "▪"]

static var _fence: RegEx = RegEx.create_from_string("^ {0,3}(`{3,}|~{3,})\\s*([^`\\s]*)[^`]*$")
static var _heading: RegEx = RegEx.create_from_string("^ {0,3}(#{1,6}) +(.*?)(?: +#+)?$")
static var _rule: RegEx = RegEx.create_from_string(
	"^ {0,3}(?:(?:\\* *){3,}|(?:- *){3,}|(?:_ *){3,})$"
)
static var _item: RegEx = RegEx.create_from_string("^( *)(?:([-*+])|(\\d{1,9}[.)])) +(.*)$")
static var _row: RegEx = RegEx.create_from_string("^ *\\|.*\\| *$")
static var _row_rule: RegEx = RegEx.create_from_string("^[ |:-]+$")
# In the order in which they are looked for. What is found in one is not looked at by the others.
static var _spans: RegEx = RegEx.create_from_string(
	(
		"(?<ticks>`{1,3})(?<code>.+?)(?<!`)\\k<ticks>(?!`)"
		+ "|!?\\[(?<label>[^\\]]+)\\]\\((?<address>[^)\\s]+)[^)]*\\)"
		+ "|\\*\\*(?<strong>(?=\\S).+?(?<=\\S))\\*\\*"
		+ "|(?<!\\w)__(?<strong2>(?=\\S).+?(?<=\\S))__(?!\\w)"
		+ "|\\*(?<soft>(?=[^\\s*]).*?(?<=[^\\s*]))\\*(?!\\*)"
		+ "|(?<!\\w)_(?<soft2>(?=[^\\s_]).*?(?<=[^\\s_]))_(?!\\w)"
		+ "|~~(?<gone>(?=\\S).+?(?<=\\S))~~"
		+ "|\\\\(?<mark>[!-/:-@\\[-`{-~])"
	)
)


## A part of a text: prose, or code without its fences.
class Block:
	extends RefCounted
	var is_code: bool = false
	## Of code, as it is named; often empty.
	var language: String = ""
	var text: String = ""
	## Where it begins in the whole text.
	var start: int = 0


## The blocks of [param text], of which the last may still grow. [param start] is where it begins.
static func blocks(text: String, start: int = 0) -> Array[Block]:
	var found: Array[Block] = []
	var current: Block = null
	var fence: String = ""
	var place: int = start
	for line: String in text.split("\n"):
		var mark: RegExMatch = _fence.search(line)
		if fence.is_empty() and mark != null:
			fence = mark.get_string(1)
			current = _begin(found, place)
			current.is_code = true
			current.language = mark.get_string(2)
		elif not fence.is_empty() and _closes(line, fence):
			fence = ""
			current = null
		elif current == null and line.strip_edges().is_empty():
			pass
		elif current == null:
			current = _begin(found, place)
			current.text = line
		elif _is_full(current, line):
			current = null
		else:
			var is_first: bool = current.is_code and current.text.is_empty()
			current.text += line if is_first else "\n" + line
		place += line.length() + 1
	return found


## What a [RichTextLabel] shows of prose. Colours of [param ink]: code, code_back, link, faint.
static func bbcode(prose: String, ink: Dictionary[String, Color], font_size: int) -> String:
	var lines: PackedStringArray = []
	var table: Array[PackedStringArray] = []
	for line: String in (prose + "\n").split("\n"):
		if _row.search(line) != null:
			if _row_rule.search(line) == null:
				table.append(_cells(line))
			continue
		if not table.is_empty():
			lines.append(_table(table, ink))
			table.clear()
		lines.append(_line(line, ink, font_size))
	return "\n".join(lines).strip_edges(false, true)


static func _begin(found: Array[Block], place: int) -> Block:
	var block: Block = Block.new()
	block.start = place
	found.append(block)
	return block


static func _closes(line: String, fence: String) -> bool:
	var words: String = line.strip_edges()
	return words.length() >= fence.length() and words.replace(fence[0], "").is_empty()


static func _is_full(block: Block, line: String) -> bool:
	return not block.is_code and block.text.length() > LONG_PROSE and line.strip_edges().is_empty()


static func _line(line: String, ink: Dictionary[String, Color], font_size: int) -> String:
	var heading: RegExMatch = _heading.search(line)
	if heading != null:
		var level: int = heading.get_string(1).length()
		var size: int = roundi(font_size * HEADING_SIZES[level - 1])
		return "[font_size=%d][b]%s[/b][/font_size]" % [size, _inline(heading.get_string(2), ink)]
	if _rule.search(line) != null:
		return "[color=%s]%s[/color]" % [ink["faint"].to_html(), "─".repeat(16)]
	var item: RegExMatch = _item.search(line)
	if item != null:
		@warning_ignore("integer_division")
		var depth: int = item.get_string(1).length() / 2
		var mark: String = item.get_string(3)
		if mark.is_empty():
			mark = BULLETS[mini(depth, BULLETS.size() - 1)]
		var words: String = "%s %s" % [mark, _inline(item.get_string(4), ink)]
		return "[indent]".repeat(depth) + words + "[/indent]".repeat(depth)
	if line.begins_with(">"):
		var said: String = _inline(line.trim_prefix(">").strip_edges(), ink)
		return "[color=%s]▏ [i]%s[/i][/color]" % [ink["faint"].to_html(), said]
	return _inline(line, ink)


static func _inline(text: String, ink: Dictionary[String, Color]) -> String:
	if text.length() > LONGEST_LINE:
		return _plain(text)
	var shown: String = ""
	var place: int = 0
	for found: RegExMatch in _spans.search_all(text):
		shown += _plain(text.substr(place, found.get_start() - place)) + _span(found, ink)
		place = found.get_end()
	return shown + _plain(text.substr(place))


static func _span(found: RegExMatch, ink: Dictionary[String, Color]) -> String:
	var code: String = found.get_string("code")
	if not code.is_empty():
		var colors: Array = [ink["code_back"].to_html(), ink["code"].to_html(), _plain(code)]
		return "[bgcolor=%s][color=%s][code]%s[/code][/color][/bgcolor]" % colors
	var address: String = found.get_string("address")
	if not address.is_empty():
		var label: String = _inline(found.get_string("label"), ink)
		var colors: Array = [
			ink["link"].to_html(), address.replace("[", "%5B").replace("]", "%5D"), label
		]
		return "[color=%s][url=%s]%s[/url][/color]" % colors
	for name: String in TAGS:
		var inner: String = found.get_string(name)
		if not inner.is_empty():
			var tag: String = TAGS[name]
			return "[%s]%s[/%s]" % [tag, _inline(inner, ink), tag]
	return _plain(found.get_string("mark"))


## So that no word of a model is a tag.
static func _plain(text: String) -> String:
	return text.replace("[", "[lb]")


static func _cells(line: String) -> PackedStringArray:
	var cells: PackedStringArray = []
	for cell: String in line.strip_edges().trim_prefix("|").trim_suffix("|").split("|"):
		cells.append(cell.strip_edges())
	return cells


static func _table(rows: Array[PackedStringArray], ink: Dictionary[String, Color]) -> String:
	var columns: int = rows[0].size()
	var shown: String = "[table=%d]" % columns
	for row: int in rows.size():
		for column: int in columns:
			var cell: String = rows[row][column] if column < rows[row].size() else ""
			var words: String = _inline(cell, ink)
			shown += (
				"[cell padding=0,2,12,2]%s[/cell]" % ("[b]%s[/b]" % words if row == 0 else words)
			)
	return shown + "[/table]"
