@tool
extends RefCounted
## Conversations of a project, in the folder where the editor keeps what it remembers of it: see
## docs/decisions/0033.

const FOLDER: String = "res://.godot/llm_chats"
const INDEX: String = "res://.godot/llm_chats/chats.cfg"
const LONGEST_TITLE: int = 48

var _index: ConfigFile = ConfigFile.new()


func _init() -> void:
	_index.load(INDEX)


## Their names, of which the user sees none.
func newest_first() -> PackedStringArray:
	var chats: Array = Array(_index.get_sections())
	var said: Callable = func(chat: String) -> float: return _index.get_value(chat, "time", 0.0)
	chats.sort_custom(
		func(one: String, other: String) -> bool: return said.call(one) > said.call(other)
	)
	return PackedStringArray(chats)


## What it was about: how the first question begins.
func title_of(chat: String) -> String:
	return _index.get_value(chat, "title", "")


func path_of(chat: String) -> String:
	return ProjectSettings.globalize_path(FOLDER.path_join(chat + ".state"))


## Saves what the node's conversation is, as [param chat] or, if that is empty, as one more. Gives
## its name; an empty one where that failed, and the node knows why.
func save(llm: LLM, chat: String) -> String:
	var history: Array = llm.get_chat_history()
	if history.is_empty():
		return chat
	var time: float = Time.get_unix_time_from_system()
	if chat.is_empty():
		chat = "%d" % (time * 1000.0)
	DirAccess.make_dir_recursive_absolute(FOLDER)
	if not llm.save_state(path_of(chat)):
		return ""
	_index.set_value(chat, "time", time)
	if title_of(chat).is_empty():
		_index.set_value(chat, "title", _title(history))
	_index.save(INDEX)
	return chat


func remove(chat: String) -> void:
	DirAccess.remove_absolute(path_of(chat))
	_index.erase_section(chat)
	_index.save(INDEX)


func _title(history: Array) -> String:
	for message: Dictionary in history:
		if message["role"] == "user":
			var words: String = str(message["content"]).strip_edges().get_slice("\n", 0)
			return words if words.length() <= LONGEST_TITLE else words.left(LONGEST_TITLE - 1) + "…"
	return "A conversation"
