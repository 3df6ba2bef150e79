@tool
extends OptionButton
## Which model answers: one of the project's and the user's, or a file from anywhere.

## Another one is to be used.
signal chosen

const ModelPicker = preload("../chat/model_picker.gd")
const ModelPlaces = preload("../models/model_places.gd")
const ModelReport = preload("../chat/model_report.gd")

const SECTION: String = "llm"
const KEY: String = "chat_model"
const FROM_FILE: String = "Open a file…"

## The model's file or folder; empty where none was found.
var path: String = ""

var _found: PackedStringArray = []
var _finder: LLMModelFiles

@onready var _picker: ModelPicker = %Picker


func _ready() -> void:
	item_selected.connect(_on_item_selected)
	get_popup().about_to_popup.connect(look)
	_picker.model_chosen.connect(choose)


## Looks for models; the one that was used last is chosen, else the first.
func look() -> void:
	if path.is_empty():
		path = EditorInterface.get_editor_settings().get_project_metadata(SECTION, KEY, "")
	if _finder == null:
		_finder = LLMModelFiles.new()
		_finder.found.connect(_on_found)
		add_child(_finder)
	_finder.set_process(true)
	_finder.find(ModelPlaces.all())
	_show()


func pick() -> void:
	_picker.open_near(path if not path.is_empty() else "res://")


## Uses the model at [param file] from now on.
func choose(file: String) -> void:
	path = file
	EditorInterface.get_editor_settings().set_project_metadata(SECTION, KEY, path)
	_show()
	chosen.emit()


func _on_found(paths: PackedStringArray) -> void:
	_finder.set_process(false)  # nothing more comes
	_found = paths
	if path.is_empty() and not paths.is_empty():
		choose(paths[0])
	else:
		_show()


func _on_item_selected(index: int) -> void:
	var file: String = get_item_metadata(index)
	_show()
	if file.is_empty():
		pick()
	else:
		choose(file)


func _show() -> void:
	var paths: PackedStringArray = _found
	if not path.is_empty() and ProjectSettings.globalize_path(path) not in paths:
		paths.append(path)
	clear()
	for file: String in paths:
		_add(ModelReport.title(file), file)
	if paths.is_empty():
		_add("No model", "")
	add_separator()
	_add(FROM_FILE, "")
	select(maxi(_index_of(path), 0))
	tooltip_text = path


func _add(title: String, file: String) -> void:
	add_item(title)
	set_item_metadata(-1, file)
	set_item_tooltip(-1, file)


func _index_of(file: String) -> int:
	for index: int in item_count:
		var held: Variant = get_item_metadata(index)
		if (
			held != null
			and ProjectSettings.globalize_path(held) == ProjectSettings.globalize_path(file)
		):
			return index
	return -1
