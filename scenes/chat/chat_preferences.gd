class_name ChatPreferences
extends RefCounted
## What the chat remembers from one start to the next, in a file of the user's own.

const _SECTION: String = "chat"
const _MODEL: String = "model"
## An executor is chosen anew at each start: a slow one must not stay by accident. A preset is the
## values that it set, which are remembered.
const _FORGOTTEN: Array[StringName] = [&"executor", &"preset"]

## The model that was open last; empty at the first start.
var model_path: String:
	get:
		return str(_file.get_value(_SECTION, _MODEL, ""))
	set(value):
		_file.set_value(_SECTION, _MODEL, value)

var _file: ConfigFile = ConfigFile.new()
var _path: String


## Reads [param path] where it exists; an empty path remembers nothing.
func _init(path: String) -> void:
	_path = path
	if not path.is_empty():
		_file.load(path)


## The settings that the user changed: property to value.
func settings() -> Dictionary[StringName, Variant]:
	var found: Dictionary[StringName, Variant] = {}
	for row: ChatSettings.Row in ChatSettings.rows():
		if not _file.has_section_key(_SECTION, row.name):
			continue
		# By way of text, because the file may have been edited.
		var value: Variant = row.parse(str(_file.get_value(_SECTION, row.name)))
		if value != null:
			found[row.name] = value
	return found


## Remembers one setting; null forgets it.
func set_setting(name: StringName, value: Variant) -> void:
	if name not in _FORGOTTEN:
		_file.set_value(_SECTION, name, value)


## Writes the file.
func save() -> void:
	if not _path.is_empty():
		_file.save(_path)
