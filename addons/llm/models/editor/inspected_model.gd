@tool
extends RefCounted
## A model file, as the inspector is given it: inspector_plugin.gd shows its facts.

var path: String


func _init(of_path: String) -> void:
	path = of_path


## What the inspector calls it.
func _get_editor_name() -> String:
	return path.get_file()
