@tool
extends EditorPlugin
## What the add-on is in the editor. Its classes come from [code]llm.gdextension[/code], which the
## engine loads by itself, enabled or not.

const ExportPlugin = preload("export/export_plugin.gd")
const ModelsInEditor = preload("models/editor/models_in_editor.gd")

var _export_plugin: EditorExportPlugin = ExportPlugin.new()
var _models: ModelsInEditor = ModelsInEditor.new()


func _get_plugin_name() -> String:
	return "LLM"


func _enter_tree() -> void:
	add_export_plugin(_export_plugin)
	_models.enter(self)


func _exit_tree() -> void:
	remove_export_plugin(_export_plugin)
	_models.exit(self)


func _disable_plugin() -> void:
	_models.forget()
