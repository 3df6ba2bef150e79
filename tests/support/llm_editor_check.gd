extends SceneTree
## Runs in the editor: tells, as JSON, what an edited scene and the help see of the LLM classes.

const CLASSES: Array[String] = [
	"LLM", "LLMSampling", "LLMAdapter", "LLMEmbedding", "LLMMemory", "LLMModelFiles"
]
const START_FRAMES: int = 20
const HELP_FRAMES: int = 40

var _frames: int = 0
var _report: Dictionary = {"help": {}}
var _edited: Resource = null


func _process(_delta: float) -> bool:
	_frames += 1
	if _frames == START_FRAMES:
		_use_in_scene()
		EditorInterface.inspect_object(_edited)
		EditorInterface.set_main_screen_editor("Script")
	for page: int in CLASSES.size():
		var begin: int = START_FRAMES + page * HELP_FRAMES
		if _frames == begin:
			EditorInterface.get_script_editor().goto_help("class:" + CLASSES[page])
		elif _frames == begin + HELP_FRAMES - 1:
			_report["help"][CLASSES[page]] = _help_text()
	if _frames == START_FRAMES + CLASSES.size() * HELP_FRAMES:
		_choose_preset()
		print("REPORT " + JSON.stringify(_report))
		quit()
	return false


func _use_in_scene() -> void:
	var llm: Node = ClassDB.instantiate(&"LLM")
	llm.name = "Speaker"
	llm.set("model_path", "res://no_such_model.gguf")
	llm.set("temperature", 0.25)
	_edited = ClassDB.instantiate(&"LLMSampling")
	_edited.set("top_k", 7)
	llm.set("sampling", _edited)
	var adapter: Resource = ClassDB.instantiate(&"LLMAdapter")
	adapter.set("path", "res://style.gguf")
	llm.set("adapters", [adapter])
	root.add_child(llm)
	llm.call("start_worker")
	_report["request"] = llm.call("ask", "Hello")
	_report["saved"] = _saved_text(llm)


func _saved_text(llm: Node) -> String:
	var scene: PackedScene = PackedScene.new()
	scene.pack(llm)
	ResourceSaver.save(scene, "res://saved.tscn")
	return FileAccess.get_file_as_string("res://saved.tscn")


## As a user does: by the inspector's own property editor.
func _choose_preset() -> void:
	for each: Node in EditorInterface.get_inspector().find_children(
		"*", "EditorProperty", true, false
	):
		var property: EditorProperty = each
		if property.get_edited_property() == "preset":
			property.emit_changed("preset", "creative")
			break
	_report["chosen"] = [_edited.get("preset"), _edited.get("temperature"), _edited.get("top_k")]
	_report["saved_chosen"] = _saved_text(root.get_node(^"Speaker"))


## Of the page that is shown.
func _help_text() -> String:
	for label: RichTextLabel in root.find_children("*", "RichTextLabel", true, false):
		if label.is_visible_in_tree() and label.get_parsed_text().length() > 500:
			return label.get_parsed_text()
	return ""
