@tool
extends RefCounted
## What is open in the editor, as text for a model, within a number of tokens.


## A text, or the part of it that fits.
class Piece:
	extends RefCounted
	var title: String
	## What stands in the system prompt; empty where there is nothing.
	var text: String = ""
	## How many tokens that has, and how many all of it would.
	var tokens: int = 0
	var all_tokens: int = 0

	func is_cut() -> bool:
		return tokens < all_tokens


## The script that is being edited; where lines of it are selected, these. What does not fit is left
## out around the cursor. [param count] gives a text's tokens.
static func of_script(limit: int, count: Callable) -> Piece:
	var script: Script = EditorInterface.get_script_editor().get_current_script()
	var script_editor: ScriptEditorBase = EditorInterface.get_script_editor().get_current_editor()
	var editor: CodeEdit = null
	if script_editor != null:
		editor = script_editor.get_base_editor() as CodeEdit
	if script == null or editor == null:
		return null
	var lines: PackedStringArray = editor.text.split("\n")
	var first: int = 0
	var cursor: int = editor.get_caret_line()
	if editor.has_selection():
		first = editor.get_selection_from_line()
		lines = lines.slice(first, editor.get_selection_to_line() + 1)
		cursor = clampi(cursor - first, 0, lines.size() - 1)
	var all_tokens: int = count.call("\n".join(lines))
	var shown: Vector2i = window(lines, cursor, limit, count)
	var piece: Piece = Piece.new()
	piece.title = script.resource_path.get_file()
	var part: String = "\n".join(lines.slice(shown.x, shown.y))
	piece.text = (
		"The script %s, lines %d to %d (the cursor is in line %d):\n```gdscript\n%s\n```"
		% [script.resource_path, first + shown.x + 1, first + shown.y, first + cursor + 1, part]
	)
	piece.tokens = count.call(part)
	piece.all_tokens = all_tokens
	return piece


## The scene that is being edited, as a tree, and what differs of the nodes that are selected.
static func of_scene(limit: int, count: Callable) -> Piece:
	var root: Node = EditorInterface.get_edited_scene_root()
	if root == null:
		return null
	var lines: PackedStringArray = []
	_add_node(lines, root, root, 0)
	for node: Node in EditorInterface.get_selection().get_selected_nodes():
		lines.append("Selected: %s" % (root.name if node == root else str(root.get_path_to(node))))
		lines.append_array(_changed(node))
	var piece: Piece = Piece.new()
	piece.title = root.scene_file_path.get_file() if root.scene_file_path else str(root.name)
	piece.all_tokens = count.call("\n".join(lines))
	var shown: Vector2i = window(lines, 0, limit, count)
	var part: String = "\n".join(lines.slice(shown.x, shown.y))
	piece.text = "The scene %s, a node a line:\n```\n%s\n```" % [root.scene_file_path, part]
	piece.tokens = count.call(part)
	return piece


## First line, and the one after the last, of a part around [param centre] that fits.
static func window(lines: PackedStringArray, centre: int, limit: int, count: Callable) -> Vector2i:
	var all_tokens: int = count.call("\n".join(lines))
	if all_tokens <= limit:
		return Vector2i(0, lines.size())
	# By halves: so many lines on each side.
	var fits: int = -1
	var too_many: int = lines.size()
	while too_many - fits > 1:
		@warning_ignore("integer_division")
		var sides: int = (fits + too_many) / 2
		var around: PackedStringArray = lines.slice(maxi(centre - sides, 0), centre + sides + 1)
		if count.call("\n".join(around)) <= limit:
			fits = sides
		else:
			too_many = sides
	if fits < 0:
		return Vector2i(centre, centre)
	return Vector2i(maxi(centre - fits, 0), mini(centre + fits + 1, lines.size()))


static func _add_node(lines: PackedStringArray, node: Node, root: Node, depth: int) -> void:
	var line: String = "%s%s (%s)" % ["  ".repeat(depth), node.name, node.get_class()]
	var script: Script = node.get_script()
	if script != null:
		line += ", script " + script.resource_path
	if node != root and not node.scene_file_path.is_empty():
		line += ", scene " + node.scene_file_path
	lines.append(line)
	for child: Node in node.get_children():
		if child.owner == root:
			_add_node(lines, child, root, depth + 1)


static func _changed(node: Node) -> PackedStringArray:
	var lines: PackedStringArray = []
	for property: Dictionary in node.get_property_list():
		var name: String = property["name"]
		if not property["usage"] & PROPERTY_USAGE_STORAGE or name == "script":
			continue
		var value: Variant = node.get(name)
		if value != ClassDB.class_get_property_default_value(node.get_class(), name):
			lines.append("  %s = %s" % [name, str(value).left(200)])
	return lines
