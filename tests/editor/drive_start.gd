@tool
extends "driver.gd"
## Tells what the editor knows of the add-on, and takes a picture.


func _drive() -> void:
	report["enabled"] = EditorInterface.is_plugin_enabled("llm")
	report["class"] = ClassDB.class_exists(&"LLM")
	report["started_ms"] = Time.get_ticks_msec()
	await take_picture("editor")
