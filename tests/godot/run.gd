extends SceneTree
## Runs the test_* methods of every test_*.gd beside this file, each in a fresh node, and quits.
## [codeblock lang=text]
## godot --path . --script res://tests/godot/run.gd [-- PART_OF_NAME…] [-k PART_OF_NAME]
## [/codeblock]
## Of several parts a name must have one, and that of -k as well.
## A test fails by a false claim, by an error in the engine's log that it did not expect, and by
## taking too long. The last line is "N passed, N failed".

const FOLDER: String = "res://tests/godot"
const PATIENCE_S: float = 180.0

var _passed: int = 0
var _failed: int = 0
var _errors: RefCounted = null


func _initialize() -> void:
	Engine.max_fps = 120  # a frame without work must not keep a core busy
	if ClassDB.class_exists(&"Logger"):
		_errors = (load(FOLDER + "/error_log.gd") as GDScript).new()
		OS.call(&"add_logger", _errors)
	else:
		print("this engine has no Logger: unexpected errors go unnoticed")
	if not ClassDB.class_exists(&"LLM"):
		print("the llm add-on did not start: there is no class LLM")
		quit(1)
		return
	_run_all.call_deferred()


func _run_all() -> void:
	for file: String in DirAccess.get_files_at(FOLDER):
		if file.begins_with("test_") and file.ends_with(".gd"):
			await _run_file(file)
	print("%d passed, %d failed" % [_passed, _failed])
	quit(0 if _failed == 0 and _passed > 0 else 1)


func _run_file(file: String) -> void:
	var script: GDScript = load(FOLDER.path_join(file))
	if script == null or not script.can_instantiate():
		_report(file, PackedStringArray(["the script does not compile"]), 0.0)
		return
	for method: Dictionary in script.get_script_method_list():
		var test: String = method["name"]
		var title: String = "%s %s" % [file.get_basename(), test]
		if test.begins_with("test_") and _is_wanted(title):
			await _run_test(script, test, title)


func _is_wanted(title: String) -> bool:
	var parts: PackedStringArray = OS.get_cmdline_user_args()
	var option: int = parts.find("-k")
	if option >= 0:
		if option + 1 < parts.size() and not title.contains(parts[option + 1]):
			return false
		parts.resize(option)
	for part: String in parts:
		if title.contains(part):
			return true
	return parts.is_empty()


func _run_test(script: GDScript, test: String, title: String) -> void:
	var started: float = Time.get_ticks_msec() / 1000.0
	var case: Node = script.new()
	case.name = test
	root.add_child(case)
	var done: Array[bool] = []
	var run: Callable = func() -> void:
		await case.call(test)
		done.append(true)
	run.call()
	while done.is_empty() and Time.get_ticks_msec() / 1000.0 - started < PATIENCE_S:
		await process_frame
	var failures: PackedStringArray = case.get(&"failures")
	var expected: PackedStringArray = case.get(&"expected_errors")
	if done.is_empty():
		failures.append("not over after %d s" % PATIENCE_S)
	case.queue_free()
	await process_frame
	await process_frame
	failures.append_array(_wrong_errors(expected))
	_report(title, failures, Time.get_ticks_msec() / 1000.0 - started)


## Errors that were logged though the test named none like them, and named ones that did not come.
func _wrong_errors(expected: PackedStringArray) -> PackedStringArray:
	var wrong: PackedStringArray = []
	if _errors == null:
		return wrong
	var missing: PackedStringArray = expected.duplicate()
	for error: String in _errors.call(&"take"):
		var is_expected: bool = false
		for part: String in expected:
			if error.contains(part):
				is_expected = true
				missing.erase(part)
		if not is_expected:
			wrong.append("the engine logged: " + error)
	for part: String in missing:
		wrong.append("no error with '%s' was logged" % part)
	return wrong


func _report(title: String, failures: PackedStringArray, seconds: float) -> void:
	if failures.is_empty():
		_passed += 1
		print("ok      %s (%.1f s)" % [title, seconds])
		return
	_failed += 1
	print("FAILED  %s (%.1f s)" % [title, seconds])
	for failure: String in failures:
		print("        " + failure.replace("\n", "\n        "))
