@tool
extends "driver.gd"
## The chat's dock as Godot before 4.6 has it, which later ones know as well.

const ChatInEditor = preload("res://addons/llm/dock/chat_in_editor.gd")

var _chat: ChatInEditor


func _drive() -> void:
	EditorInterface.set_plugin_enabled("llm", false)
	await frames(4)
	_chat = ChatInEditor.new()
	_chat.has_docks = false
	_chat.enter(self)
	await frames(4)
	var dock: Node = await open_chat()
	report["opened"] = dock != null
	if dock != null:
		var llm: LLM = dock.get("llm")
		dock.get_node("%Models").call(&"choose", "echo:Yes.")
		dock.call(&"send", "Is it there?")
		await wait_for(func() -> bool: return not llm.is_answering())
		report["history"] = llm.get_chat_history()
	_chat.exit()
	await frames(4)
	var base: Control = EditorInterface.get_base_control()
	report["left"] = base.find_children("ChatDock", "", true, false).size()


func _shortcut_input(event: InputEvent) -> void:
	if _chat != null:
		_chat.take_shortcut(event)
