@tool
extends RefCounted
## Model files in the editor: the FileSystem dock shows them, and the inspector what they are.
##
## They are no resources: nothing imports, loads or exports them, see docs/decisions/0036.

const InspectorPlugin = preload("inspector_plugin.gd")
const InspectedModel = preload("inspected_model.gd")

const MANAGER_WINDOW: String = "res://addons/llm/models/editor/manager_window.gd"
const MENU_ITEM: String = "Language Models…"
const EXTENSION: String = "gguf"
## Editor setting: extensions of files that are shown though the engine does not know them.
const SHOWN: String = "docks/filesystem/other_file_extensions"
const OPENED_AS_TEXT: String = "docks/filesystem/textfile_extensions"

var _inspector_plugin: EditorInspectorPlugin = InspectorPlugin.new()
var _inspected: InspectedModel
var _window: Window


func enter(plugin: EditorPlugin) -> void:
	plugin.add_inspector_plugin(_inspector_plugin)
	plugin.add_tool_menu_item(MENU_ITEM, open_manager)
	var dock: FileSystemDock = EditorInterface.get_file_system_dock()
	if dock.has_signal(&"selection_changed"):
		dock.connect(&"selection_changed", _inspect_selected)
	_show_files()


func exit(plugin: EditorPlugin) -> void:
	plugin.remove_inspector_plugin(_inspector_plugin)
	plugin.remove_tool_menu_item(MENU_ITEM)
	if is_instance_valid(_window):
		_window.queue_free()
	var dock: FileSystemDock = EditorInterface.get_file_system_dock()
	if dock.has_signal(&"selection_changed"):
		dock.disconnect(&"selection_changed", _inspect_selected)
	if _inspected != null and EditorInterface.get_inspector().get_edited_object() == _inspected:
		EditorInterface.inspect_object(null)


## Shows the manager of models.
func open_manager() -> void:
	if is_instance_valid(_window):
		_window.grab_focus()
		return
	_window = (load(MANAGER_WINDOW) as GDScript).new()
	EditorInterface.get_base_control().add_child(_window)


## The editor's setting is as it was; the dock follows when the editor is opened again. It is one of
## all projects, and each that needs it sets it when it is opened.
func forget() -> void:
	var shown: PackedStringArray = _extensions(SHOWN)
	if EXTENSION in shown:
		shown.remove_at(shown.find(EXTENSION))
		EditorInterface.get_editor_settings().set_setting(SHOWN, ",".join(shown))


func _show_files() -> void:
	var settings: EditorSettings = EditorInterface.get_editor_settings()
	if not settings.has_setting(SHOWN) or EXTENSION in _extensions(OPENED_AS_TEXT):
		return
	var shown: PackedStringArray = _extensions(SHOWN)
	if EXTENSION in shown:
		return
	shown.append(EXTENSION)
	settings.set_setting(SHOWN, ",".join(shown))
	# A scan while a project is opened for the first time may crash the editor (decision 36). Then
	# the dock follows when it is opened again.
	if not EditorInterface.get_resource_filesystem().is_scanning():
		var editor: Node = EditorInterface.get_base_control().get_parent()
		var changed: int = EditorSettings.NOTIFICATION_EDITOR_SETTINGS_CHANGED
		editor.notification.call_deferred(changed)


func _extensions(setting: String) -> PackedStringArray:
	var text: String = EditorInterface.get_editor_settings().get_setting(setting)
	return text.split(",", false)


func _inspect_selected() -> void:
	var paths: PackedStringArray = EditorInterface.get_selected_paths()
	if paths.size() == 1 and paths[0].get_extension().to_lower() == EXTENSION:
		_inspected = InspectedModel.new(paths[0])
		EditorInterface.inspect_object(_inspected, "", true)
