@tool
extends EditorPlugin
## The add-on's classes come from [code]llm.gdextension[/code], which the engine loads by itself;
## this script lets the project settings list the add-on.


func _get_plugin_name() -> String:
	return "LLM"
