@tool
class_name ModelRow
extends RefCounted
## One model of the list, in words.

enum Verdict { UNKNOWN, FITS, TOO_LARGE, DOES_NOT_RUN, ADAPTER, DAMAGED }

const ModelNames = preload("model_names.gd")

const VERDICTS: PackedStringArray = [
	"", "fits", "too large", "does not run", "LoRA adapter", "damaged"
]

## The absolute path of the file or folder.
var path: String
## As [signal LLMModelFiles.described] told; empty before.
var facts: Dictionary = {}


func _init(of_path: String) -> void:
	path = of_path


## The file's name without what all have.
func title() -> String:
	return path.get_file().trim_suffix(".gguf")


## A res:// or user:// path where there is one, as scenes should have it.
func short_path() -> String:
	var user: String = OS.get_user_data_dir()
	if path.begins_with(user + "/"):
		return "user:/" + path.trim_prefix(user)
	return ProjectSettings.localize_path(path)


func verdict() -> Verdict:
	if facts.is_empty():
		return Verdict.UNKNOWN
	if not (facts["error"] as String).is_empty():
		return Verdict.DAMAGED
	if facts.has("rank"):
		return Verdict.ADAPTER
	if not facts["supported"]:
		return Verdict.DOES_NOT_RUN
	if facts["fits"] == null:
		return Verdict.UNKNOWN
	return Verdict.FITS if facts["fits"] else Verdict.TOO_LARGE


## Whether a node can have it as its model.
func is_usable() -> bool:
	return verdict() not in [Verdict.ADAPTER, Verdict.DAMAGED, Verdict.DOES_NOT_RUN]


## What the verdict rests on.
func reason() -> String:
	match verdict():
		Verdict.DAMAGED:
			return facts["error"]
		Verdict.DOES_NOT_RUN:
			return facts["problem"]
		Verdict.FITS, Verdict.TOO_LARGE:
			return _row("  on the GPU" if facts["gpu"] != null else "  on numpy")
	return ""


## All that matters, on a line.
func summary() -> String:
	var parts: PackedStringArray = [
		architecture(), parameters(), format(), size_text(), VERDICTS[verdict()]
	]
	if verdict() in [Verdict.DAMAGED, Verdict.DOES_NOT_RUN]:
		parts = [VERDICTS[verdict()], reason()]
	return ", ".join(Array(parts).filter(func(part: String) -> bool: return not part.is_empty()))


func parameters() -> String:
	return _row("parameters").get_slice(" (", 0)


func parameter_count() -> int:
	return facts.get("parameters", 0)


## The block format that most of the file has.
func format() -> String:
	var formats: Dictionary = facts.get("formats", {})
	return "" if formats.is_empty() else (formats.keys()[0] as String).to_upper()


func architecture() -> String:
	return facts.get("architecture", "")


## Of all its files; 0 before they were looked at.
func bytes() -> int:
	return facts.get("disk_bytes", 0)


func size_text() -> String:
	var told: String = _row("size").get_slice(",", 0)
	return told if not told.is_empty() or bytes() == 0 else String.humanize_size(bytes())


func modified() -> int:
	return facts.get("modified", 0)


## Whether each word of [param filter] is somewhere in what is known.
func matches(filter: String) -> bool:
	var text: String = (
		" ".join([path, architecture(), format(), parameters(), VERDICTS[verdict()]]).to_lower()
	)
	for word: String in filter.to_lower().split(" ", false):
		if not text.contains(word):
			return false
	return true


func _row(title_of_row: String) -> String:
	for row: Array in facts.get("rows", []):
		if row[0] == title_of_row:
			return row[1]
	return ""


## All files of the model at [param of_path]: those of one in several files.
static func files_of(of_path: String) -> PackedStringArray:
	return Array(ModelNames.parts(of_path)).filter(
		func(path: String) -> bool:
			return FileAccess.file_exists(path) or DirAccess.dir_exists_absolute(path)
	)
