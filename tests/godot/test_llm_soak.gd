extends "res://tests/godot/llm_case.gd"
## The soak has a process of its own, so that the engine says what is left when it quits.


func test_every_request_ends_once_and_nothing_is_left() -> void:
	var output: Array = []
	var arguments: PackedStringArray = [
		"--audio-driver",
		"Dummy",
		"--path",
		ProjectSettings.globalize_path("res://"),
		"--script",
		"res://tests/godot/soak.gd",
	]
	if not has_gpu():
		arguments.insert(0, "--headless")
	# Else glibc keeps what loads free, up to some hundred MB, and growth would say nothing.
	OS.set_environment("MALLOC_MMAP_THRESHOLD_", str(1 << 17))
	var status: int = OS.execute(OS.get_executable_path(), arguments, output, true)
	OS.unset_environment("MALLOC_MMAP_THRESHOLD_")
	print(String(output[0]).indent("        "))
	check_equal(status, 0, "the status")
	for word: String in ["FAILED", "ERROR", "leaked", "Orphan"]:
		check(not String(output[0]).contains(word), "the output has no " + word)
