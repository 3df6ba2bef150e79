@tool
extends RefCounted
## Names of models: in the text of scenes, resources and scripts, and the parts of split ones.


## Every quoted path of a .gguf file in [param text], each once.
static func find(text: String) -> PackedStringArray:
	var found: PackedStringArray = []
	var quoted: RegEx = RegEx.create_from_string('"([^"\\n*]*[^"\\n*/]\\.gguf)"')
	for each: RegExMatch in quoted.search_all(text):
		if each.get_string(1) not in found:
			found.append(each.get_string(1))
	return found


## The files of the model at [param path]: itself, or all those of one in several files, which is
## named by its first, "…-00001-of-00003.gguf".
static func parts(path: String) -> PackedStringArray:
	var split: RegExMatch = RegEx.create_from_string("^(.*-)00001-of-(\\d{5})\\.gguf$").search(path)
	if split == null:
		return [path]
	var all: PackedStringArray = []
	for index: int in split.get_string(2).to_int():
		all.append("%s%05d-of-%s.gguf" % [split.get_string(1), index + 1, split.get_string(2)])
	return all
