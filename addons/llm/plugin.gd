@tool
extends EditorPlugin
## What the add-on is in the editor. Its classes come from [code]llm.gdextension[/code], which the
## engine loads by itself, enabled or not.

const ChatInEditor = preload("dock/chat_in_editor.gd")
const ExportPlugin = preload("export/export_plugin.gd")
const ModelsInEditor = preload("models/editor/models_in_editor.gd")

var _chat: ChatInEditor = ChatInEditor.new()
var _export_plugin: EditorExportPlugin = ExportPlugin.new()
var _models: ModelsInEditor = ModelsInEditor.new()


func _get_plugin_name() -> String:
	return "LLM"


func _enter_tree() -> void:
	add_export_plugin(_export_plugin)
	_models.enter(self)
	_chat.models_requested.connect(_models.open_manager)
	_chat.enter(self)


func _exit_tree() -> void:
	_chat.exit()
	_models.exit(self)
	remove_export_plugin(_export_plugin)


func _disable_plugin() -> void:
	_models.forget()


func _shortcut_input(event: InputEvent) -> void:
	_chat.take_shortcut(event)
