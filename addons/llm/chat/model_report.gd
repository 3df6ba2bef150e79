@tool
extends RefCounted
## Puts what the [LLM] node reports into words for the window.

## Characters that fit the narrowest window.
const LONGEST_TITLE: int = 36
## Parts of an error's text -> what the user can do about it. The first that fits counts.
const ADVICE: Dictionary[String, String] = {
	"memory": "Choose a shorter context in the settings, or a smaller model.",
	"context": "Shorten it, begin a new chat, or choose a longer context in the settings.",
	"does not exist": "It may have been moved or renamed. Open it where it is now.",
	"cannot be opened": "Check who may read the file, or open another one.",
	"this build runs": "Open a model of a kind that is supported.",
}
const FILE_ADVICE: String = "The file may be damaged, or no GGUF model. Open another one."
const DEVICE_ADVICE: String = "Try again, or choose another executor in the settings."
const ANSWER_ADVICE: String = "Your message is back in the box: change it or send it again."
const RETRY_ADVICE: String = "The answer that was there is back."


## The model's name for people: that of its file, cut where it is long.
static func title(path: String) -> String:
	if path.begins_with("echo:"):
		return "echo"
	var name: String = path.get_file().trim_suffix(".gguf")
	return name if name.length() <= LONGEST_TITLE else name.left(LONGEST_TITLE - 1) + "…"


## Whether the model was trained to chat; others go on with a text. A loaded one tells by bringing
## a chat template along. Before, [param chat_format] is empty and the name has to do.
static func is_chat_model(path: String, chat_format: String = "") -> bool:
	if not chat_format.is_empty():
		return chat_format == "template"
	var words: PackedStringArray = path.get_file().to_lower().replace("_", "-").split("-")
	for word: String in ["it", "instruct", "chat"]:
		if word in words:
			return true
	return false


## The status line of a loaded model: speed, context and what runs it.
static func status(stats: Dictionary, is_answering: bool) -> String:
	var parts: PackedStringArray = ["Answering" if is_answering else "Ready"]
	if stats["decode_tps"] > 0.0:
		parts.append("%.1f tokens/s" % stats["decode_tps"])
	parts.append("context %d / %d" % [stats["context_used"], stats["context_length"]])
	parts.append("%s on %s" % [stats["executor"], stats["device"]])
	return "  ·  ".join(parts)


## The remark below an answer that ended for [param reason].
static func ending(reason: String, stats: Dictionary) -> String:
	var count: int = stats["generated_tokens"]
	var parts: PackedStringArray = ["%d token%s" % [count, "" if count == 1 else "s"]]
	if stats["decode_tps"] > 0.0:
		parts.append("%.1f tokens/s" % stats["decode_tps"])
	match reason:
		"cancelled":
			parts.append("stopped")
		"length":
			var is_full: bool = stats["context_used"] >= stats["context_length"]
			parts.append("the context is full" if is_full else "longest answer reached")
	return "  ·  ".join(parts)


## [param error] without the folder of the model at [param path], which makes it hard to read.
static func shown_error(error: String, path: String) -> String:
	return error.replace(ProjectSettings.globalize_path(path), path.get_file())


## What helps against [param error] from loading the model at [param path].
static func load_advice(error: String, path: String) -> String:
	return _advice(error, path, FILE_ADVICE if error.contains(path.get_file()) else DEVICE_ADVICE)


## [param error] without the number of the request that it begins with.
static func without_request(error: String) -> String:
	var words: String = RegEx.create_from_string("^request \\d+: ").sub(error, "")
	return words.left(1).to_upper() + words.substr(1)


## What helps against [param error] from an answer of the model at [param path]; [param was_again]:
## it was to take the place of another.
static func answer_advice(error: String, path: String, was_again: bool) -> String:
	return _advice(error, path, RETRY_ADVICE if was_again else ANSWER_ADVICE)


static func _advice(error: String, path: String, otherwise: String) -> String:
	var words: String = shown_error(error, path)
	for part: String in ADVICE:
		if words.contains(part):
			return ADVICE[part]
	return otherwise
