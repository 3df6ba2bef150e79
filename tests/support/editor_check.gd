extends SceneTree
## Runs in the editor: tells what an edited scene and the help see of an exposed class, as JSON.

const START_FRAMES: int = 20
const HELP_FRAMES: int = 60

var _frames: int = 0
var _report: Dictionary = {}


func _process(_delta: float) -> bool:
	_frames += 1
	if _frames == START_FRAMES:
		_use_in_scene()
		EditorInterface.set_main_screen_editor("Script")
		EditorInterface.get_script_editor().goto_help("class:EditedNode")
	elif _frames == HELP_FRAMES:
		_report["help"] = _help_text()
		print("REPORT " + JSON.stringify(_report))
		quit()
	return false


func _use_in_scene() -> void:
	var node: Node = ClassDB.instantiate(&"EditedNode")
	node.name = "Edited"
	_report["default"] = node.get("level")
	node.set("level", 0.25)
	_report["level"] = node.get("level")
	root.add_child(node)
	_report["answer"] = node.call("answer", 1)
	var tool_node: Node = ClassDB.instantiate(&"EditedTool")
	_report["tool_answer"] = tool_node.call("answer")
	tool_node.free()
	_report["made_for_real"] = ClassDB.instantiate(&"EditedTool").call("edited_nodes_in_tree")
	var scene: PackedScene = PackedScene.new()
	scene.pack(node)
	ResourceSaver.save(scene, "res://saved.tscn")
	_report["saved"] = FileAccess.get_file_as_string("res://saved.tscn")
	for info: Dictionary in node.get_property_list():
		if info["name"] == "level":
			_report["hint"] = [info["hint"], info["hint_string"]]


func _help_text() -> String:
	for label: RichTextLabel in root.find_children("*", "RichTextLabel", true, false):
		if label.get_parsed_text().contains("A node that only"):
			return label.get_parsed_text()
	return ""
