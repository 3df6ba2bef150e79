@tool
extends "driver.gd"
## Uses the chat's dock as a user does, on the model without a file.

const ChatDock = preload("res://addons/llm/dock/chat_dock.gd")
const CodeBlock = preload("res://addons/llm/chat/code_block.gd")
const SCRIPT: String = "res://player.gd"
const LIMIT: int = 600

var _dock: ChatDock


func _drive() -> void:
	report["before"] = find_dock() != null
	await press("Alt+L")
	_dock = find_dock()
	report["opened"] = _dock != null and _dock.is_visible_in_tree()
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
	await _fail()
	await _take_pictures()


func find_dock() -> ChatDock:
	for node: Node in EditorInterface.get_base_control().find_children(
		"ChatDock", "", true, false
	):
		return node
	return null


func _ask() -> void:
	report["idle_before"] = _dock.llm.is_processing()
	_choose("echo:" + FileAccess.get_file_as_string("res://answer.md"))
	await _type("How does it turn?")
	await press("Enter")
	report["busy"] = _dock.llm.is_answering()
	report["wakes"] = _dock.llm.is_processing()
	await _answered()
	report["history"] = _dock.llm.get_chat_history()
	report["idle_after"] = _dock.llm.is_processing()
	report["shown"] = _texts()


func _insert() -> void:
	EditorInterface.edit_script(load(SCRIPT), 5, 4)
	await frames(10)
	await press("Alt+L")
	await press("Alt+Down")
	report["code_focused"] = _code().is_focused()
	await press("Ctrl+C")
	report["copied"] = DisplayServer.clipboard_get()
	await press("Enter")
	await frames(3)
	report["inserted"] = _script_text()
	var editor: CodeEdit = EditorInterface.get_script_editor().get_current_editor().get_base_editor()
	editor.undo()
	report["undone"] = _script_text()


func _stop() -> void:
	_choose("echo:" + "All work and no play. ".repeat(340))
	await press("Alt+L")
	await _type("Say it.")
	await press("Enter")
	await wait_for(func() -> bool: return _dock.llm.get_stats()["generated_tokens"] > 2)
	await press("Escape")
	await _answered()
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


func _fail() -> void:
	_choose("res://nothing.gguf")
	await wait_for(func() -> bool: return not _dock.llm.is_loading())
	await frames(3)
	report["banner"] = (_dock.get_node("%ErrorBanner/%Problem") as Label).text
	await press("Escape")


func _look_again() -> void:
	var menu: PopupMenu = (_dock.find_child("Chats", true, false) as MenuButton).get_popup()
	menu.about_to_popup.emit()
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
	await _type("How does it turn?")
	await press("Enter")
	await _answered()
	_widen()
	await take_picture("dock")
	await set_theme("Light")
	await take_picture("dock_light")
	await set_theme("Default")
	await take_picture("dock_dark_again")
	script.button_pressed = false


## The docks beside it give way.
func _widen() -> void:
	var node: Node = _dock
	while node != null:
		var split: SplitContainer = node as SplitContainer
		if split != null and not split.vertical and not split is VSplitContainer:
			report["splits"] = report.get("splits", []) + [split.get_path(), split.split_offset]
			split.split_offset -= 150
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
