@tool
extends EditorPlugin
## Another plugin of a blank project: enables and disables the add-on, and tells as JSON what of it
## is there before, meanwhile and afterwards.

const PLUGIN: String = "llm"
const START_FRAMES: int = 30
const FRAMES: int = 10
const TIMES: int = 5

var _frames: int = 0
var _states: Array[Dictionary] = []


func _process(_delta: float) -> void:
	if EditorInterface.get_resource_filesystem().is_scanning():
		return
	_frames += 1
	var turn: int = _frames - START_FRAMES
	if turn < 0 or turn % FRAMES != 0:
		return
	_states.append(_state())
	if turn == 2 * TIMES * FRAMES:
		print("REPORT " + JSON.stringify({"states": _states}))
		get_tree().quit()
		return
	var is_enabled: bool = EditorInterface.is_plugin_enabled(PLUGIN)
	EditorInterface.set_plugin_enabled(PLUGIN, not is_enabled)


func _state() -> Dictionary:
	return {
		"enabled": EditorInterface.is_plugin_enabled(PLUGIN),
		"class": ClassDB.class_exists(&"LLM"),
		"nodes": _own_nodes(get_tree().root),
		"orphans": Performance.get_monitor(Performance.OBJECT_ORPHAN_NODE_COUNT),
		"objects": Performance.get_monitor(Performance.OBJECT_COUNT),
		"threads": _threads(),
		"settings": _names(ProjectSettings.get_property_list()),
		"editor_settings": _names(EditorInterface.get_editor_settings().get_property_list()),
		"actions": InputMap.get_actions().map(func(each: StringName) -> String: return each),
		"project": FileAccess.get_file_as_string("res://project.godot"),
	}


## Paths of the nodes whose scripts are the add-on's.
func _own_nodes(node: Node) -> Array[String]:
	var found: Array[String] = []
	var script: Script = node.get_script()
	if script != null and script.resource_path.begins_with("res://addons/llm/"):
		found.append(str(node.get_path()))
	for child: Node in node.get_children(true):
		found.append_array(_own_nodes(child))
	return found


func _threads() -> int:
	return DirAccess.get_directories_at("/proc/self/task").size()


func _names(properties: Array[Dictionary]) -> Array:
	return properties.map(func(each: Dictionary) -> String: return each["name"])
