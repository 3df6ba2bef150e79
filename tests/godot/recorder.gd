extends RefCounted
## Notes every signal of an LLM node, in order, and whether each came on the main thread.

## Each entry is the signal's name and its arguments.
var entries: Array[Array] = []
var off_main_thread: int = 0


func _init(llm: Node) -> void:
	llm.connect(&"worker_started", _note.bind(["worker_started"]))
	for signal_name: String in ["worker_failed", "load_progress"]:
		llm.connect(signal_name, func(a: Variant) -> void: _note([signal_name, a]))
	for signal_name: String in ["response_updated", "response_finished", "response_ended"]:
		llm.connect(signal_name, func(a: Variant, b: Variant) -> void: _note([signal_name, a, b]))


## The names, with runs of one name taken together.
func order() -> PackedStringArray:
	var names: PackedStringArray = []
	for entry: Array in entries:
		if names.is_empty() or names[-1] != entry[0]:
			names.append(entry[0])
	return names


func count(signal_name: String) -> int:
	return entries.filter(func(entry: Array) -> bool: return entry[0] == signal_name).size()


## Every reason that the request ended with: exactly one, if all is well.
func reasons(id: int) -> PackedStringArray:
	var found: PackedStringArray = []
	for entry: Array in entries:
		if entry[0] == "response_ended" and entry[1] == id:
			found.append(entry[2])
	return found


## The pieces of the answer, joined.
func text(id: int) -> String:
	var pieces: String = ""
	for entry: Array in entries:
		if entry[0] == "response_updated" and entry[1] == id:
			pieces += entry[2]
	return pieces


func has_ended(id: int) -> bool:
	return not reasons(id).is_empty()


func _note(entry: Array) -> void:
	entries.append(entry)
	if OS.get_thread_caller_id() != OS.get_main_thread_id():
		off_main_thread += 1
