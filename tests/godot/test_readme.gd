extends "res://tests/godot/llm_case.gd"
## The example in the README, as it stands there.

const README: String = "res://README.md"
const PRINT_LOG: String = "res://tests/godot/print_log.gd"
const LINES: int = 5


func test_the_example_prints_an_answer() -> void:
	var script: GDScript = GDScript.new()
	script.source_code = _example()
	if script.reload() != OK:
		failures.append("the example does not compile:\n" + script.source_code)
		return
	var printed: RefCounted = _log_prints()
	var scene: Node = ClassDB.instantiate(script.get_instance_base_type())
	var llm: Node = new_llm()
	llm.name = "LLM"
	scene.add_child(llm)
	scene.set_script(script)
	var recorder: RefCounted = record(llm)
	add_child(scene)
	await until(func() -> bool: return recorder.count("response_ended") > 0, "the answer")
	if printed != null:
		OS.call(&"remove_logger", printed)
		print()
	check_equal(recorder.count("response_finished"), 1, "complete answers")
	check_equal(llm.get_chat_history().size(), 2, "messages in the history")
	var answer: String = llm.get_chat_history()[-1]["content"]
	check(not answer.is_empty(), "it says something")
	if printed != null:
		var text: String = printed.call(&"text")
		check(text.contains(answer), "'%s' is printed, not '%s'" % [text, answer])


## The one block of GDScript in the README, of so many lines.
func _example() -> String:
	var parts: PackedStringArray = FileAccess.get_file_as_string(README).split("```gdscript\n")
	check_equal(parts.size(), 2, "parts around the beginning of an example")
	var code: String = parts[-1].get_slice("```", 0)
	var lines: int = 0
	for line: String in code.split("\n", false):
		lines += 1
	check_equal(lines, LINES, "lines with something in them")
	return code


## What is printed from now on, in engines that have loggers, else null.
func _log_prints() -> RefCounted:
	if not ClassDB.class_exists(&"Logger"):
		return null
	var log: RefCounted = (load(PRINT_LOG) as GDScript).new()
	OS.call(&"add_logger", log)
	return log
