class_name LaunchArguments
extends RefCounted
## What the command line said after [code]--[/code]: [code]--model PATH[/code], and a setting as
## [code]--top-k 40[/code], [code]--top-k=40[/code] or [code]--no-thinking[/code]. The launcher has
## checked it already, so what a window cannot use is passed over.

## The model to open; empty when none was named.
var model_path: String = ""
## Of the model, for [member LLM.adapters].
var adapters: Array[LLMAdapter] = []
## Property to value, as in [ChatSettings].
var settings: Dictionary[StringName, Variant] = {}


## Reads the words of [method OS.get_cmdline_user_args].
static func parse(words: PackedStringArray) -> LaunchArguments:
	var result: LaunchArguments = LaunchArguments.new()
	var index: int = 0
	while index < words.size():
		var word: String = words[index]
		index += 1
		if not word.begins_with("--"):
			continue
		var flag: String = word.get_slice("=", 0)
		var value: String = word.substr(flag.length() + 1)
		if not word.contains("=") and index < words.size() and not words[index].begins_with("--"):
			value = words[index]
			index += 1
		result._take(flag.trim_prefix("--").replace("-", "_"), value)
	return result


func _take(name: StringName, text: String) -> void:
	if name == &"model":
		model_path = text
		return
	if name == &"lora":
		for each: String in text.split(","):
			adapters.append(_adapter(each))
		return
	if name == &"no_thinking":
		settings[&"allow_thinking"] = false
		return
	var row: ChatSettings.Row = ChatSettings.find(name)
	var value: Variant = row.parse(text) if row != null else null
	if value != null:
		settings[name] = value


## Of a path and, behind a colon, its weight.
func _adapter(text: String) -> LLMAdapter:
	var adapter: LLMAdapter = LLMAdapter.new()
	var colon: int = text.rfind(":")
	adapter.path = text
	if colon >= 0 and text.substr(colon + 1).is_valid_float():
		adapter.path = text.left(colon)
		adapter.weight = text.substr(colon + 1).to_float()
	return adapter
