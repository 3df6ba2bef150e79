@tool
extends RefCounted
## What an exported game downloads when it first runs: names of model files, each with its address
## and SHA-256. The export writes the list, the game reads it.

const PATH: String = "res://addons/llm/models/downloads.cfg"

var _file: ConfigFile = ConfigFile.new()


## Takes up an address. What is wrong with it, or nothing.
func add(url: String, sha256: String) -> String:
	var address: ModelAddress = ModelAddress.parse(url)
	if address == null:
		return "'%s' is no address of a model file; it begins with https://" % url
	if sha256.length() != 64 or not sha256.is_valid_hex_number():
		return "the SHA-256 of %s is '%s'; it has 64 hexadecimal digits" % [url, sha256]
	_file.set_value(address.file_name(), "url", url)
	_file.set_value(address.file_name(), "sha256", sha256.to_lower())
	return ""


func names() -> PackedStringArray:
	return _file.get_sections()


func url(name: String) -> String:
	return _file.get_value(name, "url", "")


func sha256(name: String) -> String:
	return _file.get_value(name, "sha256", "")


## That of the game that runs; it stays empty in the editor, and where the export wrote none.
func read() -> void:
	if FileAccess.file_exists(PATH):
		_file.load(PATH)


func as_text() -> String:
	return _file.encode_to_text()
