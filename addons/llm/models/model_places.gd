@tool
extends RefCounted
## Where models are looked for: places that all have, and folders that a user adds, which are
## remembered in a file.

const EVERYWHERE: PackedStringArray = ["res://", "res://.models", "user://models"]
const REMEMBERED: String = "user://llm_models.cfg"
const SECTION: String = "models"
const FOLDERS: String = "folders"


## All of them, for whoever has no folders of its own.
static func all() -> PackedStringArray:
	var file: ConfigFile = ConfigFile.new()
	file.load(REMEMBERED)  # there is none until a folder is added
	var added: PackedStringArray = file.get_value(SECTION, FOLDERS, PackedStringArray())
	return EVERYWHERE + added
