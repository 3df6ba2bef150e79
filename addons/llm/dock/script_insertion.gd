@tool
extends RefCounted
## Puts code where the cursor of the script editor is, as one step to be undone.


## Inserts it with the indentation of the place. Says why it cannot; empty where it did.
static func insert(code: String) -> String:
	var script_editor: ScriptEditorBase = EditorInterface.get_script_editor().get_current_editor()
	if script_editor == null:
		return "No script is open."
	var editor: CodeEdit = script_editor.get_base_editor() as CodeEdit
	if editor == null or not editor.editable:
		return "What is open cannot be edited."
	EditorInterface.set_main_screen_editor("Script")
	editor.begin_complex_operation()
	if editor.has_selection():
		editor.delete_selection()
	var before: String = editor.get_line(editor.get_caret_line()).left(editor.get_caret_column())
	var margin: String = before.left(before.length() - before.lstrip(" \t").length())
	editor.insert_text_at_caret(indented(code, margin, _unit(editor)))
	editor.end_complex_operation()
	editor.grab_focus()
	return ""


## Code whose steps of indentation are each [param unit], behind the [param margin] that its first
## line has already: a script with tabs takes no spaces.
static func indented(code: String, margin: String, unit: String) -> String:
	var lines: PackedStringArray = code.split("\n")
	var step: int = _step(lines)
	for index: int in lines.size():
		var words: String = lines[index].lstrip(" \t")
		var blank: String = lines[index].left(lines[index].length() - words.length())
		@warning_ignore("integer_division")
		var depth: int = blank.count("\t") + blank.count(" ") / step
		if words.is_empty():
			lines[index] = ""
		else:
			lines[index] = ("" if index == 0 else margin) + unit.repeat(depth) + words
	return "\n".join(lines)


static func _unit(editor: CodeEdit) -> String:
	return " ".repeat(editor.indent_size) if editor.indent_use_spaces else "\t"


## How many spaces the code has for a step.
static func _step(lines: PackedStringArray) -> int:
	var least: int = 0
	for line: String in lines:
		var spaces: int = line.length() - line.lstrip(" ").length()
		if spaces > 0 and (least == 0 or spaces < least):
			least = spaces
	return maxi(least, 1)
