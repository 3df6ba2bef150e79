@tool
extends "driver.gd"
## Uses the chat's dock as a user does, on the model without a file.

const ChatDock = preload("res://addons/llm/dock/chat_dock.gd")
const CodeBlock = preload("res://addons/llm/chat/code_block.gd")
const EditorContext = preload("res://addons/llm/dock/editor_context.gd")
const ScriptInsertion = preload("res://addons/llm/dock/script_insertion.gd")
const SCRIPT: String = "res://player.gd"
const QUESTION: String = "How do I make it jump?"
const LIMIT: int = 600

var _dock: ChatDock


func _drive() -> void:
	var base: Control = EditorInterface.get_base_control()
	report["before"] = not base.find_children("ChatDock", "", true, false).is_empty()
	_dock = await open_chat()
	report["opened"] = _dock != null
	if not report["opened"]:
		return
	var words: PackedStringArray = OS.get_cmdline_user_args()
	if "again" in words:
		await _look_again()
		return
	await _ask()
	await _insert()
	await _stop()
	await _attach()
	_compute()
	await _fail()
	await _take_pictures()


func _ask() -> void:
	report["idle_before"] = _dock.llm.is_processing()
	_choose("echo:" + FileAccess.get_file_as_string("res://answer.md"))
	await _type(QUESTION)
	await press("Enter")
	report["busy"] = _dock.llm.is_answering()
	report["wakes"] = _dock.llm.is_processing()
	await _answered()
	report["history"] = _dock.llm.get_chat_history()
	report["idle_after"] = _dock.llm.is_processing()
	report["shown"] = _texts()


func _insert() -> void:
	EditorInterface.edit_script(load(SCRIPT), 9, 2)
	await frames(10)
	await open_chat()
	await press("Alt+Down")
	report["code_focused"] = _code().is_focused()
	await press("Ctrl+C")
	report["copied"] = DisplayServer.clipboard_get()
	await press("Enter")
	await frames(3)
	report["inserted"] = _script_text()
	var editor: CodeEdit = (
		EditorInterface.get_script_editor().get_current_editor().get_base_editor()
	)
	editor.undo()
	report["undone"] = _script_text()


func _stop() -> void:
	_choose("echo:" + "All work and no play. ".repeat(340))
	_dock.llm.gpu_ms_per_frame = 0.1  # so that it takes many frames
	await open_chat()
	await _type("Say it.")
	await press("Enter")
	await wait_for(func() -> bool: return _dock.llm.get_stats()["generated_tokens"] > 2)
	await press("Escape")
	await _answered()
	_dock.llm.gpu_ms_per_frame = 0.0
	report["stopped"] = _dock.llm.get_end_reason()
	report["stopped_after"] = _dock.llm.get_stats()["generated_tokens"]
	await press("Ctrl+Up")
	await press("Ctrl+Up")
	report["recalled"] = _prompt_text()
	await press("Ctrl+Down")
	await press("Ctrl+Down")
	report["typed"] = _prompt_text()


func _attach() -> void:
	_dock.llm.context_length = LIMIT
	_choose("echo:Yes.")
	var script: Button = _dock.find_child("Script", true, false)
	script.button_pressed = true
	await _type("And that?")
	await press("Enter")
	await _answered()
	report["attached"] = script.text
	report["system_prompt"] = _dock.llm.system_prompt
	var scene: Button = _dock.find_child("Scene", true, false)
	scene.button_pressed = true
	script.button_pressed = false
	report["scene"] = _dock.get("_attachments").system_prompt()
	scene.button_pressed = false


## Without the editor's help.
func _compute() -> void:
	report["indented"] = [
		ScriptInsertion.indented("if a:\n  if b:\n    c()\n\n  d()", "\t", "\t"),
		ScriptInsertion.indented("if a:\n\tb()", "", "    "),
		ScriptInsertion.indented("a()", "\t\t", "\t"),
	]
	var lines: PackedStringArray = "0 1 2 3 4 5 6 7 8 9".split(" ")
	report["windows"] = []
	for case: Vector2i in (
		[
			Vector2i(0, 19),
			Vector2i(5, 7),
			Vector2i(0, 7),
			Vector2i(9, 7),
			Vector2i(4, 1),
			Vector2i(4, 0)
		]
		as Array[Vector2i]
	):
		var count: Callable = func(text: String) -> int: return text.length()
		var found: Vector2i = EditorContext.window(lines, case.x, case.y, count)
		report["windows"].append("".join(lines.slice(found.x, found.y)))


func _fail() -> void:
	_choose("res://nothing.gguf")
	await wait_for(func() -> bool: return not _dock.llm.is_loading())
	await frames(3)
	report["banner"] = (_dock.get_node("%ErrorBanner/%Problem") as Label).text
	await press("Escape")


func _look_again() -> void:
	var chats: MenuButton = _dock.find_child("Chats", true, false)
	chats.about_to_popup.emit()
	var menu: PopupMenu = chats.get_popup()
	report["titles"] = []
	for index: int in menu.item_count:
		report["titles"].append(menu.get_item_text(index))
	menu.id_pressed.emit(menu.get_item_id(0))
	report["history"] = _dock.llm.get_chat_history()
	report["shown"] = _texts()


func _take_pictures() -> void:
	_dock.llm.context_length = 8192
	_choose("echo:" + FileAccess.get_file_as_string("res://answer.md"))
	_dock.new_chat()
	var script: Button = _dock.find_child("Script", true, false)
	script.button_pressed = true
	await _type(QUESTION)
	await press("Enter")
	await _answered()
	_widen()
	var editor: CodeEdit = (
		EditorInterface.get_script_editor().get_current_editor().get_base_editor()
	)
	editor.set_line_as_first_visible(0)
	report["dark"] = _ink()
	await take_picture("dock")
	await set_theme("Light")
	report["light"] = _ink()
	await take_picture("dock_light")
	await set_theme("Default")
	report["dark_again"] = _ink()
	script.button_pressed = false


## The colours of what is written in the dock, and of what is typed.
func _ink() -> Array:
	var label: Control = (
		_dock.get_node("%MessageList").call(&"latest").get_node("%Answer").get_child(0)
	)
	return [
		label.get_theme_color(&"default_color").to_html(),
		_code().get_node("%Code").get_theme_color(&"font_readonly_color").to_html(),
	]


## What is beside it gives way.
func _widen() -> void:
	var node: Node = _dock
	while node != null:
		var offsets: Variant = node.get(&"split_offsets")
		if offsets != null and not node.get(&"vertical"):
			offsets[-1] -= 170
			node.set(&"split_offsets", offsets)
			return
		node = node.get_parent()


func _choose(model: String) -> void:
	_dock.get_node("%Models").call(&"choose", model)


func _answered() -> void:
	await wait_for(func() -> bool: return not _dock.llm.is_answering())
	await frames(3)


func _type(text: String) -> void:
	for character: String in text:
		var event: InputEventKey = InputEventKey.new()
		event.unicode = character.unicode_at(0)
		event.pressed = true
		Input.parse_input_event(event)
	await frames(2)


func _prompt_text() -> String:
	return _dock.get_node("%PromptBox").get("text")


func _texts() -> Array[String]:
	var texts: Array[String] = []
	for message: Node in _dock.get_node("%MessageList/%Messages").get_children():
		texts.append(message.get("text"))
	return texts


func _code() -> CodeBlock:
	return _dock.get_node("%MessageList/%Messages").get_child(1).call(&"code_blocks")[0]


func _script_text() -> String:
	var editor: ScriptEditorBase = EditorInterface.get_script_editor().get_current_editor()
	return (editor.get_base_editor() as CodeEdit).text
