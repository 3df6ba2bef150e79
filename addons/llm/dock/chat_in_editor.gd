@tool
extends RefCounted
## The chat's dock in the editor: a tab while the add-on is enabled, filled when it is first seen.

## The user wants to see the models of this machine, and get more.
signal models_requested

const CONTENT: String = "res://addons/llm/dock/chat_dock.tscn"
const ICON: Texture2D = preload("../icons/llm.svg")
const TITLE: String = "Chat"

## Docks of their own kind are there since Godot 4.6; by name, as that is no class before.
var has_docks: bool = ClassDB.class_exists(&"EditorDock")

var _plugin: EditorPlugin
var _place: Control  # an EditorDock; before Godot 4.6, what is put into a dock
var _content: Control
var _is_focus_wanted: bool = false
var _shortcut: Shortcut = _focus_shortcut()


func enter(plugin: EditorPlugin) -> void:
	if not ClassDB.class_exists(&"LLM"):  # the native library did not load, and said why
		return
	_plugin = plugin
	_place = ClassDB.instantiate(&"EditorDock" if has_docks else &"MarginContainer")
	_place.name = TITLE
	_place.visibility_changed.connect(_fill, CONNECT_DEFERRED)
	if has_docks:
		_place.set(&"title", TITLE)
		_place.set(&"layout_key", "llm_chat")
		_place.set(&"dock_icon", ICON)
		_place.set(&"default_slot", EditorPlugin.DOCK_SLOT_RIGHT_UL)
		plugin.call(&"add_dock", _place)
	else:
		plugin.add_control_to_dock(EditorPlugin.DOCK_SLOT_RIGHT_UL, _place)
		plugin.set_dock_tab_icon(_place, ICON)
	_fill.call_deferred()  # the editor shows its docks first


func exit() -> void:
	if _place == null:
		return
	if _content != null:
		_content.call(&"close")
	if has_docks:
		_plugin.call(&"remove_dock", _place)
	else:
		_plugin.remove_control_from_docks(_place)
	_place.free()  # at once, as an add-on that is disabled leaves nothing
	_place = null
	_content = null


## Takes the keys that lead here; to be called with all that the editor's window gets.
func take_shortcut(event: InputEvent) -> void:
	if _place == null or not event.is_pressed() or not _shortcut.matches_event(event):
		return
	if has_docks:
		_place.call(&"make_visible")
	else:
		_show_tab()
	_place.get_viewport().set_input_as_handled()
	_is_focus_wanted = true
	_fill.call_deferred()  # and when it is seen, which may take the editor some frames


## One that floats has none.
func _show_tab() -> void:
	var tab: Node = _place
	while tab != null and not tab.get_parent() is TabContainer:
		tab = tab.get_parent()
	if tab != null:
		(tab.get_parent() as TabContainer).current_tab = tab.get_index()


## What the dock holds takes a while to load, and is not looked at in most sessions.
func _fill() -> void:
	if _place == null or not _place.is_visible_in_tree():
		return
	if _content == null:
		_content = (load(CONTENT) as PackedScene).instantiate()
		if not models_requested.get_connections().is_empty():
			_content.connect(&"models_requested", models_requested.emit)
		_place.add_child(_content)
		_content.call(&"open", _plugin)
	if _is_focus_wanted:
		_is_focus_wanted = false
		_content.call(&"focus_prompt")


static func _focus_shortcut() -> Shortcut:
	var key: InputEventKey = InputEventKey.new()
	key.keycode = KEY_L
	key.alt_pressed = true
	var shortcut: Shortcut = Shortcut.new()
	shortcut.events = [key]
	return shortcut
