@tool
extends EditorInspectorPlugin
## Properties that take a GGUF file, and what a selected one is.

const InspectedModel = preload("inspected_model.gd")
const ModelProperty = preload("model_property.gd")

const HINT: String = "*.gguf"
const TAKES_FOLDERS: StringName = &"model_path"


func _can_handle(_object: Object) -> bool:
	return true


func _parse_begin(object: Object) -> void:
	var model: InspectedModel = object as InspectedModel
	if model == null:
		return
	var table: ModelFactsTable = ModelFactsTable.new()
	var files: LLMModelFiles = LLMModelFiles.new()
	files.described.connect(func(_path: String, facts: Dictionary) -> void: table.show_facts(facts))
	files.tree_entered.connect(files.describe.bind(model.path), CONNECT_ONE_SHOT)
	var box: VBoxContainer = VBoxContainer.new()
	box.add_child(table)
	box.add_child(files)
	add_custom_control(box)


func _parse_property(
	_object: Object,
	type: Variant.Type,
	name: String,
	hint_type: PropertyHint,
	hint_string: String,
	_usage_flags: int,
	_wide: bool
) -> bool:
	if type != TYPE_STRING or hint_type != PROPERTY_HINT_FILE or hint_string != HINT:
		return false
	add_property_editor(name, ModelProperty.new(name == TAKES_FOLDERS))
	return true
