extends "res://tests/godot/case.gd"
## What tests of the chat window share.

const MessageBubble = preload("res://addons/llm/chat/message_bubble.gd")
const MessageList = preload("res://addons/llm/chat/message_list.gd")
const PromptBox = preload("res://addons/llm/chat/prompt_box.gd")

const SCENE: PackedScene = preload("res://scenes/chat/chat.tscn")

var _chat: Chat
var _llm: LLM


## A chat on [param path] or without a model. It remembers nothing, or what it does in the file
## [param preferences].
func _open(path: String, preferences: String = "") -> void:
	_chat = SCENE.instantiate()
	_chat.preferences_path = preferences
	_chat.default_model = path
	_llm = _chat.get_node("%LLM")
	_llm.context_length = 256
	_llm.sampling.temperature = 0.0
	_llm.max_tokens = 4
	add_child(_chat)
	await frames(2)
	if not path.is_empty():
		await _loaded()


## A chat on the model without a file, which says what follows the colon, or what it was asked.
func _open_echo(model: String = "echo:", preferences: String = "") -> void:
	await _open("", preferences)
	_llm.max_tokens = 0
	_chat.open_model(model)
	await _loaded()


func _ask(text: String) -> void:
	_chat.send(text)
	await _answered()


func _loaded() -> void:
	await until(func() -> bool: return not _llm.is_loading(), "the model")
	await frames(2)


func _answered() -> void:
	await until(func() -> bool: return not _llm.is_answering(), "the answer")
	await frames(2)


func _prompt() -> PromptBox:
	return _chat.get_node("%PromptBox")


func _messages() -> MessageList:
	return _chat.get_node("%MessageList")


func _suggestions() -> PackedStringArray:
	var texts: PackedStringArray = []
	for chip: Button in _chat.get_node("%EmptyState").get_node("%Suggestions").get_children():
		texts.append(chip.text)
	return texts


func _message(index: int) -> MessageBubble:
	return _messages().get_node("%Messages").get_child(index)


func _status() -> String:
	return (_chat.get_node("%TopBar").get_node("%Status") as Label).text


func _type(text: String) -> void:
	for character: String in text:
		var event: InputEventKey = InputEventKey.new()
		event.unicode = character.unicode_at(0)
		event.keycode = OS.find_keycode_from_string(character.to_upper())
		event.pressed = true
		get_viewport().push_input(event)


func _press(key: Key, modifiers: Dictionary[String, bool] = {}) -> void:
	for is_down: bool in [true, false] as Array[bool]:
		var event: InputEventKey = InputEventKey.new()
		event.keycode = key
		event.physical_keycode = key
		event.pressed = is_down
		event.shift_pressed = modifiers.get("shift", false)
		event.ctrl_pressed = modifiers.get("ctrl", false)
		get_viewport().push_input(event)
