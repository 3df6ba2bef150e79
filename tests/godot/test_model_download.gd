extends "res://tests/godot/download_case.gd"
## Downloads come whole, from servers that drop and stall, and go on where they were cut.


func test_a_file_comes_whole() -> void:
	await _fetch("whole.gguf?download=true")
	_came("whole.gguf", SIZE)
	check_equal(_download.received, SIZE, "what was told")
	check_equal(_download.total, SIZE, "what was told of the whole")
	check_equal(_files(), PackedStringArray(["whole.gguf"]), "nothing else is left")


func test_after_a_cut_it_goes_on() -> void:
	for name: String in ["cut.gguf", "dated.gguf", "stall.gguf"] as Array[String]:
		await _fetch(name)
		_came(name, SIZE)
		check_equal(_ranges(name), ["", "bytes=%d-" % (SIZE / 2)], "ranges of " + name)


func test_after_many_cuts_it_goes_on() -> void:
	await _fetch("cut-often.gguf")
	_came("cut-often.gguf", SIZE)
	check_equal(_ranges("cut-often.gguf").size(), 5, "requests")


func test_a_server_that_never_goes_on() -> void:
	await _fetch("cut-always.gguf")
	_failed("start again to go on there")
	await _fetch("no-range-cut.gguf")
	_failed("began anew 3 times")


func test_a_server_that_cannot_go_on_begins_anew() -> void:
	for name: String in ["no-range.gguf", "cut-weak.gguf"] as Array[String]:
		await _fetch(name)
		_came(name, SIZE)


func test_another_file_in_the_same_place_begins_anew() -> void:
	for name: String in ["changed.gguf", "changed-unsaid.gguf"] as Array[String]:
		await _fetch(name)
		_came(name, OTHER_SIZE, "")
	await _fetch("wrong-range.gguf")
	_came("wrong-range.gguf", SIZE)
	await _fetch("shrunk.gguf")
	_came("shrunk.gguf", 1000, "")


func test_what_came_is_kept_for_another_start() -> void:
	_make("slow.gguf")
	_download.start()
	await until(func() -> bool: return _download.received > 50_000, "a part of it")
	_download.cancel()
	await _ended()
	_failed(ModelDownload.CANCELLED)
	var had: int = _download.received
	check(had < SIZE, "it was cancelled on the way, at %d" % had)
	check_equal(_files().size(), 2, "the part and its record")
	var parts: int = _ranges("slow.gguf").size()
	_make("slow.gguf")
	_download.sha256 = SHA256.to_upper()
	_download.start()
	await _ended()
	_came("slow.gguf", SIZE)
	check_equal(_ranges("slow.gguf").slice(parts), ["bytes=%d-" % had], "it goes on there")


func test_a_part_that_is_whole_is_looked_at_again() -> void:
	await _fetch("cut.gguf")
	var part: String = _folder.path_join("cut.gguf.%s.part" % _download.url.md5_text().left(8))
	DirAccess.rename_absolute(_download.path, part)
	var record: ConfigFile = ConfigFile.new()
	record.set_value("part", "validator", '"one"')
	record.set_value("part", "total", SIZE)
	record.save(part + ".info")
	await _fetch("cut.gguf")
	_came("cut.gguf", SIZE)
	check_equal(_ranges("cut.gguf")[-1], "bytes=%d-" % (SIZE - 1), "the range")


func test_two_of_the_same_file_are_one_too_many() -> void:
	_make("slow.gguf")
	_download.start()
	var first: ModelDownload = _download
	_download = null
	_make("slow.gguf")
	_download.start()
	await _ended()
	_failed("downloaded already")
	await until(func() -> bool: return not first.is_running(), "the first")
	check_equal(_errors[-1], "", "the error of the first")
	check_equal(FileAccess.get_sha256(first.path), SHA256, "its checksum")


func test_what_came_can_be_discarded() -> void:
	_make("cut-always.gguf")
	_download.start()
	await _ended()
	check_equal(_files().size(), 2, "the part and its record")
	_download.discard()
	check_equal(_files().size(), 0, "files")


func test_the_recipe_fetches_a_model_once() -> void:
	var page: String = FileAccess.get_file_as_string("res://docs/models_manager.md")
	var code: String = page.get_slice("```gdscript\n", 1).get_slice("```", 0)
	var path: String = "user://downloads %d/FILE.gguf" % get_instance_id()
	code = code.replace("https://example.org/FILE.gguf", _server.call("address", "whole.gguf"))
	code = code.replace('"user://models/FILE.gguf"', '"%s"' % path).replace("…", SHA256)
	var script: GDScript = GDScript.new()
	script.source_code = code
	check_equal(script.reload(), OK, "it compiles")
	expect_error("FILE.gguf")  # whose bytes are random
	for _run: int in 2:
		var game: Node = Node.new()
		var llm: LLM = LLM.new()
		llm.name = "LLM"
		game.add_child(llm)
		var bar: ProgressBar = ProgressBar.new()
		bar.name = "ProgressBar"
		game.add_child(bar)
		game.set_script(script)
		add_child(game)
		await until(func() -> bool: return not llm.get_last_error().is_empty(), "the load")
		check_equal(llm.model_path, path, "the path")
		game.free()
	check_equal(_ranges("whole.gguf"), [""], "downloads")


func test_leaving_the_tree_cancels() -> void:
	_make("silent.gguf")
	_download.start()
	await frames(3)
	var before: int = Time.get_ticks_msec()
	remove_child(_download)
	check(Time.get_ticks_msec() - before < 200, "it ends at once")
	check_equal(_errors, PackedStringArray([ModelDownload.CANCELLED]), "errors")
	_download.free()
