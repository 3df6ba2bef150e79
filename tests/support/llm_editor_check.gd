extends SceneTree
## Runs in the editor: tells, as JSON, what an edited scene and the help see of the LLM node.

const START_FRAMES: int = 20
const HELP_FRAMES: int = 40
## The classes of the add-on, and what each page begins with.
const PAGES: Dictionary = {
	"LLM": "Runs a language model",
	"LLMEmbedding": "Makes vectors of texts",
	"LLMMemory": "Remembers texts",
}

var _frames: int = 0
var _report: Dictionary = {}


func _process(_delta: float) -> bool:
	_frames += 1
	if _frames == START_FRAMES:
		_use_in_scene()
		EditorInterface.set_main_screen_editor("Script")
		_read_help.call_deferred()
	return false


func _read_help() -> void:
	for page: String in PAGES:
		EditorInterface.get_script_editor().goto_help("class:" + page)
		for _frame: int in HELP_FRAMES:
			await process_frame
		_report["help of " + page] = _help_text(PAGES[page])
	print("REPORT " + JSON.stringify(_report))
	quit()


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


func _help_text(beginning: String) -> String:
	for label: RichTextLabel in root.find_children("*", "RichTextLabel", true, false):
		if label.get_parsed_text().contains(beginning):
			return label.get_parsed_text()
	return ""
