@tool
extends EditorPlugin
## What the add-on is in the editor. Its classes come from [code]llm.gdextension[/code], which the
## engine loads by itself, enabled or not.

const ExportPlugin = preload("export/export_plugin.gd")

var _export_plugin: EditorExportPlugin = ExportPlugin.new()


func _get_plugin_name() -> String:
	return "LLM"


func _enter_tree() -> void:
	add_export_plugin(_export_plugin)


func _exit_tree() -> void:
	remove_export_plugin(_export_plugin)
