@tool
class_name ModelList
extends Tree
## Models in a table that is sorted by a click on a title. Rows can be dragged to where a path goes.

signal selected(row: ModelRow)
## Enter, or a double click.
signal activated(row: ModelRow)
## Delete.
signal removal_requested(row: ModelRow)

enum Column { NAME, PARAMETERS, FORMAT, SIZE, CHANGED, FITS }

const TITLES: PackedStringArray = ["Model", "Parameters", "Format", "Size", "Changed", "Fits here"]
## Width of all columns but the first, in characters.
const CHARACTERS: PackedInt32Array = [0, 12, 8, 11, 13, 14]
## What is left out first where there is little room, with the width in characters that it wants.
const WANTS: Dictionary[Column, int] = {
	Column.CHANGED: 74,
	Column.PARAMETERS: 62,
	Column.FORMAT: 52,
	Column.SIZE: 42,
}

var sorted_by: Column = Column.NAME
var is_descending: bool = false
var filter: String = "":
	set = _set_filter

var _rows: Array[ModelRow] = []
var _shown: Array[Column] = []
var _is_filling: bool = false


func _ready() -> void:
	hide_root = true
	hide_folding = true
	select_mode = Tree.SELECT_ROW
	column_titles_visible = true
	allow_reselect = true
	column_title_clicked.connect(_on_title_clicked)
	item_selected.connect(_on_item_selected)
	item_activated.connect(func() -> void: activated.emit(selection()))
	resized.connect(_choose_columns)
	_choose_columns()


func _notification(what: int) -> void:
	if what == NOTIFICATION_THEME_CHANGED and is_node_ready():
		_choose_columns()
		_fill()


## These and no others; what was selected stays so.
func show_rows(rows: Array[ModelRow]) -> void:
	_rows = rows
	_fill()


## Something of a row is known now.
func refresh() -> void:
	_fill()


## The selected row, or null.
func selection() -> ModelRow:
	var item: TreeItem = get_selected()
	return null if item == null else item.get_metadata(0)


func select_path(path: String) -> void:
	var root: TreeItem = get_root()
	for item: TreeItem in root.get_children() if root != null else []:
		if (item.get_metadata(0) as ModelRow).path == path:
			item.select(0)
			scroll_to_item(item)


## Paths in the order of the table.
func paths() -> PackedStringArray:
	var found: PackedStringArray = []
	for item: TreeItem in get_root().get_children():
		found.append((item.get_metadata(0) as ModelRow).path)
	return found


func sort_by(column: Column, descending: bool) -> void:
	sorted_by = column
	is_descending = descending
	_fill()


func _set_filter(text: String) -> void:
	filter = text
	_fill()


## As the FileSystem dock's files are dragged; null where there is no row.
func drag_data(at_position: Vector2) -> Variant:
	var item: TreeItem = get_item_at_position(at_position)
	if item == null:
		return null
	var row: ModelRow = item.get_metadata(0)
	return {"type": "files", "files": PackedStringArray([row.short_path()])}


func _get_drag_data(at_position: Vector2) -> Variant:
	var data: Variant = drag_data(at_position)
	if data != null:
		var preview: Label = Label.new()
		preview.text = (data["files"][0] as String).get_file()
		set_drag_preview(preview)
	return data


func _gui_input(event: InputEvent) -> void:
	var key: InputEventKey = event as InputEventKey
	if key != null and key.pressed and key.keycode == KEY_DELETE and selection() != null:
		removal_requested.emit(selection())
		accept_event()


func _on_title_clicked(index: int, button: int) -> void:
	if button == MOUSE_BUTTON_LEFT:
		var column: Column = _shown[index]
		sort_by(column, not is_descending if column == sorted_by else false)


func _on_item_selected() -> void:
	if not _is_filling:
		selected.emit(selection())


## As many as there is room for.
func _choose_columns() -> void:
	var font_size: int = get_theme_font_size(&"font_size")
	var font: Font = get_theme_font(&"font")
	var character: float = font.get_char_size("0".unicode_at(0), font_size).x
	var room: float = size.x / character
	var wanted: Array[Column] = []
	for column: Column in Column.values():
		if room >= WANTS.get(column, 0):
			wanted.append(column)
	columns = wanted.size()
	for index: int in wanted.size():
		set_column_expand(index, index == 0)
		set_column_clip_content(index, index == 0)
		var width: float = CHARACTERS[wanted[index]] * character
		set_column_custom_minimum_width(index, int(width))
		set_column_title_alignment(index, HORIZONTAL_ALIGNMENT_LEFT)
	if wanted != _shown:
		_shown = wanted
		_fill()


func _fill() -> void:
	if _shown.is_empty():
		return
	var before: ModelRow = selection()
	_is_filling = true
	clear()
	var root: TreeItem = create_item()
	var rows: Array[ModelRow] = _rows.filter(
		func(row: ModelRow) -> bool: return row.matches(filter)
	)
	rows.sort_custom(_comes_before)
	for row: ModelRow in rows:
		_add(root, row)
		if before != null and row.path == before.path:
			root.get_child(-1).select(0)
	for index: int in _shown.size():
		var arrow: String = (" ▾" if is_descending else " ▴") if _shown[index] == sorted_by else ""
		set_column_title(index, TITLES[_shown[index]] + arrow)
	_is_filling = false
	if selection() != before:
		selected.emit(selection())


func _add(root: TreeItem, row: ModelRow) -> void:
	var item: TreeItem = root.create_child()
	item.set_metadata(0, row)
	for index: int in _shown.size():
		item.set_text(index, _text(row, _shown[index]))
		item.set_tooltip_text(index, row.short_path())
		if _shown[index] == Column.FITS:
			item.set_custom_color(index, _color(row.verdict()))
			item.set_tooltip_text(index, row.reason())


func _text(row: ModelRow, column: Column) -> String:
	match column:
		Column.NAME:
			return row.title()
		Column.PARAMETERS:
			return row.parameters()
		Column.FORMAT:
			return row.format()
		Column.SIZE:
			return row.size_text()
		Column.CHANGED:
			return Time.get_date_string_from_unix_time(row.modified()) if row.modified() > 0 else ""
	return "…" if row.facts.is_empty() else ModelRow.VERDICTS[row.verdict()]


func _color(verdict: ModelRow.Verdict) -> Color:
	var text: Color = get_theme_color(&"font_color")
	var is_dark: bool = text.get_luminance() > 0.5
	match verdict:
		ModelRow.Verdict.FITS:
			return Color(0.52, 0.84, 0.58) if is_dark else Color(0.07, 0.42, 0.16)
		ModelRow.Verdict.TOO_LARGE, ModelRow.Verdict.DAMAGED:
			return Color(0.98, 0.58, 0.55) if is_dark else Color(0.7, 0.12, 0.1)
	return Color(text, 0.75)


func _comes_before(one: ModelRow, other: ModelRow) -> bool:
	var keys: Array = [_key(one), _key(other)]
	if keys[0] == keys[1]:
		return one.path.naturalnocasecmp_to(other.path) < 0
	return keys[0] > keys[1] if is_descending else keys[0] < keys[1]


func _key(row: ModelRow) -> Variant:
	match sorted_by:
		Column.PARAMETERS:
			return row.parameter_count()
		Column.FORMAT:
			return row.format()
		Column.SIZE:
			return row.bytes()
		Column.CHANGED:
			return row.modified()
		Column.FITS:
			return row.verdict()
	return row.title().to_lower()
