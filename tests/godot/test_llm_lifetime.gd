extends "res://tests/godot/llm_case.gd"
## Stopping, freeing, leaving the tree and quitting, each in every phase.

const PHASES: Array[String] = ["queued", "loading", "prefill", "decode"]
const LONG: Dictionary = {"max_tokens": 200, "context_length": 1024}


func test_stopping_in_every_phase() -> void:
	var llm: Node = make_llm(LONG)
	var recorder: RefCounted = record(llm)
	for phase: String in PHASES:
		var id: int = await _reach(phase, llm, recorder)
		llm.stop_generation()
		llm.stop_generation()
		check(not llm.is_answering(), "free at once, stopped while " + phase)
		await ended(recorder, id)
		await frames(10)
		check_equal(recorder.reasons(id), PackedStringArray(["cancelled"]), "reasons, " + phase)
		if phase != "prefill":  # which a fast GPU may have behind it
			check_equal(recorder.text(id).is_empty(), phase != "decode", "no text, " + phase)
	check_equal(recorder.count("response_finished"), 0, "a cancelled answer is not finished")
	llm.max_tokens = 4
	var last: int = llm.complete(FOX)
	await ended(recorder, last)
	check_equal(recorder.text(last), " the lazy dog.", "the answer after all that")


func test_a_stopped_answer_is_kept() -> void:
	var llm: Node = make_llm(LONG)
	var recorder: RefCounted = record(llm)
	var id: int = llm.ask("Tell me a story.")
	await until(func() -> bool: return not recorder.text(id).is_empty(), "a piece")
	llm.stop_generation()
	# and the next may be asked without waiting
	llm.max_tokens = 1
	var next: int = llm.ask("Go on.")
	await ended(recorder, next)
	check_equal(recorder.reasons(id), PackedStringArray(["cancelled"]), "reasons")
	check_equal(recorder.reasons(next), PackedStringArray(["length"]), "reasons of the next")
	var history: Array = llm.get_chat_history()
	check_equal(history.size(), 4, "messages")
	check_equal(history[1]["content"], recorder.text(id), "the piece that is kept")


func test_freeing_in_every_phase() -> void:
	for phase: String in PHASES:
		var llm: Node = make_llm(LONG)
		var recorder: RefCounted = record(llm)
		var id: int = await _reach(phase, llm, recorder)
		llm.free()
		await frames(10)
		check_equal(recorder.reasons(id), PackedStringArray(["cancelled"]), "reasons, " + phase)


func test_leaving_the_tree_and_coming_back() -> void:
	var llm: Node = make_llm()
	var recorder: RefCounted = record(llm)
	var first: int = llm.ask("Hello")
	await ended(recorder, first)
	var second: int = llm.ask("And then?")
	remove_child(llm)
	check_equal(recorder.reasons(second), PackedStringArray(["cancelled"]), "ended on leaving")
	check_equal(llm.get_stats()["model"], "", "the model is unloaded")
	add_child(llm)
	check_equal(llm.get_chat_history().size(), 2, "the history stays")
	var third: int = llm.complete(FOX)
	await ended(recorder, third)
	check_equal(recorder.text(third), " the lazy dog.", "the answer after coming back")


func test_loading_and_freeing_over_and_over() -> void:
	var memory: Array[int] = []
	var threads: Array[int] = []
	for round: int in 6:
		var llm: Node = make_llm({"max_tokens": 1})
		var recorder: RefCounted = record(llm)
		var id: int = llm.complete(FOX)
		await ended(recorder, id)
		llm.free()
		await frames(2)
		memory.append(_megabytes_in_use())
		threads.append(DirAccess.get_directories_at("/proc/self/task").size())
	# The model takes 250 MB and more: one that was left behind would show.
	var growth: int = memory[-1] - memory[1]
	check(memory[0] > 100, "the memory in use is known: %s" % [memory])
	check(growth < 200, "memory grew by %d MB in 4 rounds: %s" % [growth, memory])
	check(threads[-1] <= threads[1], "no threads are left behind: %s" % [threads])


func test_two_nodes_answer_side_by_side() -> void:
	var nodes: Array[Node] = [make_llm(), make_llm()]
	var recorders: Array[RefCounted] = [record(nodes[0]), record(nodes[1])]
	var ids: Array[int] = [nodes[0].complete(FOX), nodes[1].complete(FOX)]
	for index: int in 2:
		await ended(recorders[index], ids[index])
		check_equal(recorders[index].text(ids[index]), " the lazy dog.", "the answer")
		check(not recorders[1 - index].has_ended(ids[index]), "and nobody else's")


func test_asking_from_a_handler() -> void:
	var llm: Node = make_llm({"max_tokens": 1})
	var recorder: RefCounted = record(llm)
	var ids: Array[int] = [llm.complete(FOX)]
	llm.connect(
		&"response_finished",
		func(_id: int, _text: String) -> void:
			if ids.size() < 3:
				ids.append(llm.complete(FOX))
	)
	await until(func() -> bool: return ids.size() == 3 and recorder.has_ended(ids[2]), "the third")
	for id: int in ids:
		check_equal(recorder.reasons(id), PackedStringArray(["length"]), "reasons")


func test_quitting_in_every_phase() -> void:
	for phase: String in ["idle", "loading", "answering"]:
		var output: Array = []
		var arguments: PackedStringArray = [
			"--audio-driver",
			"Dummy",
			"--quit-after",
			"20000",
			"--path",
			ProjectSettings.globalize_path("res://"),
			"--script",
			"res://tests/godot/quit_while.gd",
			"--",
			phase
		]
		if not has_gpu():
			arguments.insert(0, "--headless")
		var status: int = OS.execute(OS.get_executable_path(), arguments, output, true)
		check_equal(status, 0, "status after quitting while " + phase)
		check(output[0].contains("quitting while " + phase), "it came that far: " + output[0])
		check(not output[0].contains("ERROR"), "without errors: " + output[0])


func _megabytes_in_use() -> int:
	var status: FileAccess = FileAccess.open("/proc/self/status", FileAccess.READ)
	while not status.eof_reached():  # its length is told as 0
		var line: String = status.get_line()
		if line.begins_with("VmRSS:"):
			return line.to_int() / 1024
	return 0


## Asks, and lets frames pass until the request is in [param phase].
func _reach(phase: String, llm: Node, recorder: RefCounted) -> int:
	if phase == "loading":
		llm.context_length += 1  # so that it has to be loaded again
	var id: int = llm.complete(FOX.repeat(130) if phase == "prefill" else FOX)
	match phase:
		"loading":
			var before: int = recorder.count("load_progress")
			await until(func() -> bool: return recorder.count("load_progress") > before, phase)
		"prefill":
			await until(func() -> bool: return not llm.is_loading(), "the load")
		"decode":
			await until(func() -> bool: return not recorder.text(id).is_empty(), "a piece")
	return id
