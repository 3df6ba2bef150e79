@tool
extends "driver.gd"
## Looks at model files in the FileSystem dock, the inspector and the manager.

const MODEL: String = "res://models/gemma.gguf"
const HUGE: String = "res://models/huge.gguf"
const SHOWN: String = "docks/filesystem/other_file_extensions"
const PLUGIN: String = "res://addons/llm/plugin.gd"
const PROPERTY: String = "res://addons/llm/models/editor/model_property.gd"


func _drive() -> void:
	var node: Node = EditorInterface.get_edited_scene_root()
	await wait_for(func() -> bool: return not _type(MODEL).is_empty())
	report["types"] = [_type(MODEL), _type(HUGE)]
	report["read"] = _bytes_read()
	await _inspect(MODEL)
	await _drop_on(node)
	await _use_in(node)
	await _disable()


func _type(path: String) -> String:
	return EditorInterface.get_resource_filesystem().get_file_type(path)


## Since the editor began, which has scanned the project.
func _bytes_read() -> int:
	var text: String = FileAccess.open("/proc/self/io", FileAccess.READ).get_line()
	return text.trim_prefix("rchar: ").to_int()


func _inspect(path: String) -> void:
	EditorInterface.get_file_system_dock().navigate_to_path(path)
	await frames(2)
	var inspector: EditorInspector = EditorInterface.get_inspector()
	await wait_for(func() -> bool: return not _texts(inspector).is_empty())
	report["facts"] = _texts(inspector)
	await take_picture("inspector")


func _texts(inspector: EditorInspector) -> Array:
	for table: Node in inspector.find_children("*", "GridContainer", true, false):
		if table is ModelFactsTable:
			return table.get_children().map(func(label: Label) -> String: return label.text)
	return []


func _drop_on(node: Node) -> void:
	EditorInterface.edit_node(node)
	await frames(5)
	var property: EditorProperty = _property()
	report["property"] = property != null
	if property == null:
		return
	var dragged: Dictionary = {"type": "files", "files": PackedStringArray([MODEL])}
	var other: Dictionary = {"type": "files", "files": PackedStringArray(["res://icon.png"])}
	var folder: Dictionary = {
		"type": "files_and_dirs", "files": PackedStringArray(["res://models/"])
	}
	report["takes"] = [dragged, other, folder, "text"].map(
		func(data: Variant) -> bool: return property.call(&"_can_drop", Vector2.ZERO, data)
	)
	property.call(&"_drop", Vector2.ZERO, dragged)
	report["dropped"] = node.get(&"model_path")
	await frames(2)
	property = _property()
	var about: Label = property.get(&"_about")
	await wait_for(func() -> bool: return about.visible)
	report["about"] = about.text
	await take_picture("property")
	var undo: EditorUndoRedoManager = EditorInterface.get_editor_undo_redo()
	undo.get_history_undo_redo(undo.get_object_history_id(node)).undo()
	report["undone"] = node.get(&"model_path")


func _property() -> EditorProperty:
	for property: Node in EditorInterface.get_inspector().find_children("*", "", true, false):
		var script: Script = property.get_script()
		if script != null and script.resource_path == PROPERTY:
			return property as EditorProperty
	return null


## Chooses the model in the manager.
func _use_in(node: Node) -> void:
	EditorInterface.get_selection().clear()
	EditorInterface.get_selection().add_node(node)
	var plugin: Node = _plugin()
	(plugin.get(&"_chat") as Object).emit_signal(&"models_requested")
	await frames(2)
	var window: Window = (plugin.get(&"_models") as Object).get(&"_window")
	window.size = Vector2i(900, 560)
	var manager: ModelManager = _manager_in(window)
	manager.preferences_path = ""
	await wait_for(func() -> bool: return manager._models.size() == 5 and _are_known(manager))
	manager.list.select_path(ProjectSettings.globalize_path(MODEL))
	for theme_name: String in ["Default", "Light"] as Array[String]:
		await set_theme(theme_name)
		await frames(3)
		RenderingServer.force_draw()
		window.get_texture().get_image().save_png("user://manager_%s.png" % theme_name.to_lower())
	var use: Button = manager.get_node("%Use")
	report["use"] = use.text
	use.pressed.emit()
	report["used"] = node.get(&"model_path")
	report["downloads_go_to"] = manager.downloads.folder


func _plugin() -> Node:
	for plugin: Node in get_tree().root.find_children("*", "EditorPlugin", true, false):
		var script: Script = plugin.get_script()
		if script != null and script.resource_path == PLUGIN:
			return plugin
	return null


func _manager_in(window: Window) -> ModelManager:
	for control: Node in window.find_children("*", "VBoxContainer", true, false):
		if control is ModelManager:
			return control
	return null


func _are_known(manager: ModelManager) -> bool:
	return manager._models.values().all(
		func(row: ModelRow) -> bool: return not row.facts.is_empty()
	)


func _disable() -> void:
	var settings: EditorSettings = EditorInterface.get_editor_settings()
	report["shown"] = settings.get_setting(SHOWN)
	report["managers"] = [find("ModelManager") != null]
	EditorInterface.set_plugin_enabled("llm", false)
	await frames(3)
	report["managers"].append(find("ModelManager") != null)
	report["shown_without"] = settings.get_setting(SHOWN)
