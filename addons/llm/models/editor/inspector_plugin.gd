@tool
extends EditorInspectorPlugin
## Properties that take a GGUF file, and what a selected one is.

const InspectedModel = preload("inspected_model.gd")

# Loaded when they are first needed, which is not when the editor starts.
const FACTS_VIEW: String = "res://addons/llm/models/editor/facts_view.gd"
const MODEL_PROPERTY: String = "res://addons/llm/models/editor/model_property.gd"
const HINT: String = "*.gguf"
const TAKES_FOLDERS: StringName = &"model_path"


func _can_handle(_object: Object) -> bool:
	return true


func _parse_begin(object: Object) -> void:
	var model: InspectedModel = object as InspectedModel
	if model != null:
		add_custom_control((load(FACTS_VIEW) as GDScript).new(model.path))


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
	add_property_editor(name, (load(MODEL_PROPERTY) as GDScript).new(name == TAKES_FOLDERS))
	return true
