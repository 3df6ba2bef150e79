extends "res://tests/godot/download_case.gd"
## What a player sees of models that come when a game first runs. tests/export has a game that does.

const SCENE: PackedScene = preload("res://addons/llm/models/missing_models.tscn")

var _times_finished: int = 0


func test_each_has_a_row_and_says_how_far_it_is() -> void:
	var models: MissingModels = _made(["stall.gguf", "missing.gguf"])
	check_equal(
		models.missing(), PackedStringArray(["stall.gguf", "missing.gguf"]), "those missing"
	)
	var stalled: DownloadRow = _row(models, 0)
	var missing: DownloadRow = _row(models, 1)
	await until(func() -> bool: return missing.state().contains("answered 404"), "an error", 20.0)
	await until(func() -> bool: return stalled.state().contains(" of 683."), "progress", 20.0)
	await check_fits(models, stalled)
	check_equal(_times_finished, 0, "times that it said so")
	stalled.discard()
	await until(func() -> bool: return not stalled.download.is_running(), "the end", 20.0)


func test_where_nothing_is_missing_it_is_finished_and_gone() -> void:
	var models: MissingModels = _made([])
	check_equal(_times_finished, 0, "times that it said so before others could listen")
	await until(func() -> bool: return _times_finished == 1, "the end", 5.0)
	check(not models.visible, "it is hidden")


func _made(names: Array[String]) -> MissingModels:
	var models: MissingModels = SCENE.instantiate()
	for file_name: String in names:
		models.downloads.add(_server.call("address", file_name), SHA256)
	models.finished.connect(func() -> void: _times_finished += 1)
	models.set_anchors_and_offsets_preset(Control.PRESET_FULL_RECT)
	add_child(models)
	return models


func _row(models: MissingModels, index: int) -> DownloadRow:
	return models.get_child(index)
