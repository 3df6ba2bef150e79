extends "res://tests/godot/llm_case.gd"
## Files that are no models: each a clear error, and the node is usable afterwards.

var _folder: String = "user://test_llm_failures"


func test_files_that_are_no_models() -> void:
	var llm: Node = make_llm()
	var recorder: RefCounted = record(llm)
	var files: Dictionary = _bad_files()
	for path: String in files:
		expect_error(path.get_file())
		llm.model_path = path
		var id: int = llm.complete(FOX)
		await ended(recorder, id)
		check_equal(recorder.reasons(id), PackedStringArray(["error"]), "reasons for " + path)
		var error: String = llm.get_last_error()
		check(error.contains(files[path]), "'%s' says '%s'" % [error, files[path]])
		check(not error.contains("\n"), "one line")
	check_equal(recorder.count("worker_failed"), files.size(), "worker_failed")
	check_equal(recorder.count("worker_started"), 0, "worker_started")

	llm.model_path = MODEL
	var good: int = llm.complete(FOX)
	await ended(recorder, good)
	check_equal(recorder.text(good), " the lazy dog.", "the answer after all that")


func test_without_a_model() -> void:
	var llm: Node = make_llm({"model_path": ""})
	var recorder: RefCounted = record(llm)
	expect_error("model_path is empty")
	llm.start_worker()
	var id: int = llm.ask("Hello")
	await ended(recorder, id)
	check_equal(recorder.order(), PackedStringArray(["worker_failed", "response_ended"]), "signals")


func test_an_executor_that_does_not_exist() -> void:
	var llm: Node = make_llm({"executor": "abacus"})
	var recorder: RefCounted = record(llm)
	expect_error("abacus")
	llm.start_worker()
	await until(func() -> bool: return recorder.count("worker_failed") > 0, "worker_failed")


## path -> what the error must say
func _bad_files() -> Dictionary:
	DirAccess.make_dir_recursive_absolute(_folder)
	var model: FileAccess = FileAccess.open(MODEL, FileAccess.READ)
	var start: PackedByteArray = model.get_buffer(1000)
	var wrong_version: PackedByteArray = start.duplicate()
	wrong_version.encode_u32(4, 99)
	return {
		_folder + "/missing.gguf": "missing.gguf",
		_folder: "is a folder",
		_write("empty.gguf", PackedByteArray()): "empty.gguf",
		_write("text.gguf", "This is no model at all.".to_utf8_buffer()): "GGUF",
		_write("cut.gguf", start): "cut.gguf",
		_write("version.gguf", wrong_version): "99",
	}


func _write(file: String, bytes: PackedByteArray) -> String:
	var path: String = _folder.path_join(file)
	FileAccess.open(path, FileAccess.WRITE).store_buffer(bytes)
	return path
