extends "res://tests/godot/llm_case.gd"
## Model files are found and described without a frame waiting for it.

const FOLDER: String = "res://.models"

var _files: Node
var _told: Array[Array] = []


func test_files_are_found_and_described() -> void:
	_make()
	_files.call(&"find", PackedStringArray([FOLDER]))
	await _answers(1)
	var paths: PackedStringArray = _told[0][0]
	check_equal(paths.size(), 1, "files")
	check(paths[0].is_absolute_path() and paths[0].get_file() == MODEL.get_file(), paths[0])
	_files.call(&"describe", MODEL)
	await _answers(2)
	check_equal(_told[1][0], MODEL, "the path")
	var facts: Dictionary = _told[1][1]
	check_equal(facts["error"], "", "an error")
	check_equal(facts["architecture"], "gemma3", "the architecture")
	check_equal(facts["supported"], true, "it runs")
	check_equal(facts["fits"], true, "it fits")
	check_equal(facts["files"], 1, "files")
	check_equal(facts["disk_bytes"], FileAccess.get_size(MODEL), "bytes")
	check_equal(facts["modified"], FileAccess.get_modified_time(MODEL), "when it changed")
	check_equal(facts["rows"][4], ["name", "Gemma 3 270m"], "a row for people")
	check_equal(facts["formats"]["f32"]["tensors"], 109, "tensors of a format")


func test_what_is_no_model() -> void:
	_make()
	_files.call(&"describe", "res://project.godot")
	_files.call(&"describe", "user://nowhere.gguf")
	await _answers(2)
	check((_told[0][1]["error"] as String).contains("not with 'GGUF'"), _told[0][1]["error"])
	check((_told[1][1]["error"] as String).contains("does not exist"), _told[1][1]["error"])


func test_a_node_that_left_tells_nothing() -> void:
	_make()
	_files.call(&"describe", MODEL)
	remove_child(_files)
	await frames(30)
	check_equal(_told.size(), 0, "answers outside the tree")
	add_child(_files)
	_files.call(&"describe", MODEL)
	await _answers(1)
	_files.call(&"describe", MODEL)
	_files.free()
	await frames(10)


func _make() -> void:
	_files = ClassDB.instantiate(&"LLMModelFiles")
	_files.connect(&"found", func(paths: PackedStringArray) -> void: _told.append([paths]))
	_files.connect(
		&"described", func(path: String, facts: Dictionary) -> void: _told.append([path, facts])
	)
	add_child(_files)


func _answers(count: int) -> void:
	await until(func() -> bool: return _told.size() >= count, "answer %d" % count, 20.0)
