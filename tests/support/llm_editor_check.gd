extends SceneTree
## Runs in the editor: tells, as JSON, what an edited scene and the help see of the LLM node.

const START_FRAMES: int = 20
const HELP_FRAMES: int = 60

var _frames: int = 0
var _report: Dictionary = {}


func _process(_delta: float) -> bool:
	_frames += 1
	if _frames == START_FRAMES:
		_use_in_scene()
		EditorInterface.set_main_screen_editor("Script")
		EditorInterface.get_script_editor().goto_help("class:LLM")
	elif _frames == HELP_FRAMES:
		_report["help"] = _help_text()
		print("REPORT " + JSON.stringify(_report))
		quit()
	return false


func _use_in_scene() -> void:
	var llm: Node = ClassDB.instantiate(&"LLM")
	llm.name = "Speaker"
	llm.set("model_path", "res://no_such_model.gguf")
	llm.set("temperature", 0.25)
	root.add_child(llm)
	llm.call("start_worker")
	_report["request"] = llm.call("ask", "Hello")
	var scene: PackedScene = PackedScene.new()
	scene.pack(llm)
	ResourceSaver.save(scene, "res://saved.tscn")
	_report["saved"] = FileAccess.get_file_as_string("res://saved.tscn")


func _help_text() -> String:
	for label: RichTextLabel in root.find_children("*", "RichTextLabel", true, false):
		if label.get_parsed_text().contains("Runs a language model"):
			return label.get_parsed_text()
	return ""
