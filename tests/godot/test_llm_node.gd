extends "res://tests/godot/llm_case.gd"
## The node on the real model: what it says, in which order, and where it computes.


func test_an_answer_on_the_cpu() -> void:
	await _answer_once("reference")


func test_an_answer_on_the_gpu() -> void:
	if not has_gpu():
		print("        no RenderingDevice here: only the CPU was tested")
		return
	await _answer_once("dispatch")


func _answer_once(executor: String) -> void:
	var llm: Node = make_llm({"executor": executor})
	var recorder: RefCounted = record(llm)
	check_equal(llm.count_tokens(FOX), -1, "count_tokens before the load")
	check_equal(llm.get_stats()["chat_format"], "", "the chat format before the load")
	var id: int = llm.complete(FOX)
	check(llm.is_answering() and llm.is_loading(), "asking loads")
	check_equal(recorder.entries, [] as Array[Array], "signals before the call returned")
	await ended(recorder, id)
	var names: Array[String] = [
		"load_progress", "worker_started", "response_updated", "response_finished", "response_ended"
	]
	check_equal(recorder.order(), PackedStringArray(names), "the order of signals")
	check_equal(recorder.reasons(id), PackedStringArray(["length"]), "reasons")
	check_equal(recorder.text(id), " the lazy dog.", "the pieces")
	check_equal(recorder.entries[-2], ["response_finished", id, " the lazy dog."], "the whole")
	check_equal(recorder.off_main_thread, 0, "signals on other threads")
	var fractions: Array = recorder.entries.filter(
		func(entry: Array) -> bool: return entry[0] == "load_progress"
	)
	check_equal(fractions[-1][1], 1.0, "the last fraction of the load")

	var stats: Dictionary = llm.get_stats()
	check_equal(stats["executor"], executor, "executor")
	check_equal(stats["thread"], "llm-worker", "the thread that computed")
	check_equal(stats["token_ids"], FOX_TOKENS as Array, "tokens")
	check_equal(stats["prompt_tokens"], 7, "tokens of the prompt")
	check_equal(stats["context_used"], 11, "context used")
	check_equal(stats["context_length"], 256, "context length")
	check_equal(stats["model"], MODEL.get_file(), "model")
	check_equal(stats["chat_format"], "fallback", "the chat format of a base model")
	for key: String in ["load_s", "prompt_tps", "decode_tps"]:
		check(stats[key] > 0.0, key + " is known")
	check_equal(llm.count_tokens(FOX), 6, "count_tokens")
	check_equal(llm.get_chat_history(), [], "a completion leaves no history")


func test_a_conversation() -> void:
	var llm: Node = make_llm({"system_prompt": "Be brief."})
	var recorder: RefCounted = record(llm)
	var first: int = llm.ask("Hello")
	await ended(recorder, first)
	var history: Array = llm.get_chat_history()
	check_equal(history.size(), 2, "messages")
	check_equal(history[0], {"role": "user", "content": "Hello"}, "the question")
	check_equal(history[1], {"role": "assistant", "content": recorder.text(first)}, "the answer")

	# What was computed before is not computed again.
	var second: int = llm.ask("And then?")
	await ended(recorder, second)
	check(llm.get_stats()["cached_tokens"] >= 4, "the beginning is known")
	check_equal(llm.get_chat_history().size(), 4, "messages")

	llm.reset_context()
	check_equal(llm.get_chat_history(), [], "history after a reset")
	check_equal(llm.get_stats()["context_used"], 0, "context used after a reset")
	var again: int = llm.ask("Hello")
	await ended(recorder, again)
	check_equal(llm.get_stats()["cached_tokens"], 0, "a reset forgets")
	check_equal(recorder.text(again), recorder.text(first), "and says the same again")

	llm.set_chat_history(history)
	check_equal(llm.get_chat_history(), history, "history that was set")
	expect_error("message 1 of the chat history has role 'narrator'")
	llm.set_chat_history([history[0], {"role": "narrator", "content": "x"}])
	check_equal(llm.get_chat_history(), history, "history after a bad one")


func test_seeds_and_stop_words() -> void:
	var llm: Node = make_llm({"temperature": 1.5, "top_k": 0, "top_p": 1.0, "min_p": 0.0})
	var recorder: RefCounted = record(llm)
	var texts: PackedStringArray = []
	for seed_used: int in [7, 7, 8]:
		llm.reset_context()
		llm.seed = seed_used
		var id: int = llm.complete(FOX)
		await ended(recorder, id)
		texts.append(recorder.text(id))
	check_equal(texts[0], texts[1], "the same seed's text")
	check(texts[0] != texts[2], "another seed's text is another")

	llm.temperature = 0.0
	llm.stop_words = PackedStringArray(["y d"])
	var stopped: int = llm.complete(FOX)
	await ended(recorder, stopped)
	check_equal(recorder.reasons(stopped), PackedStringArray(["stop_word"]), "reasons")
	check_equal(recorder.text(stopped), " the laz", "text before the stop word")


func test_requests_that_are_refused() -> void:
	var llm: Node = make_llm({"context_length": 16})
	var recorder: RefCounted = record(llm)
	expect_error("the prompt is empty")
	expect_error("still being answered")
	expect_error("temperature is -1")
	expect_error("context_length is 16")
	var empty: int = llm.ask("   ")
	var running: int = llm.complete(FOX)
	var second: int = llm.complete(FOX)
	check(recorder.reasons(second).is_empty(), "refused only after the call returned")
	await frames(2)
	for id: int in [empty, second]:
		check_equal(recorder.reasons(id), PackedStringArray(["error"]), "reasons")
	check(llm.get_last_error().contains("still being answered"), "the reason can be read")
	await ended(recorder, running)
	check_equal(recorder.text(running), " the lazy dog.", "the running one is untouched")

	var long: int = llm.complete(FOX.repeat(3))
	await ended(recorder, long)
	check_equal(recorder.reasons(long), PackedStringArray(["error"]), "reasons")
	llm.temperature = -1.0
	var wrong: int = llm.complete(FOX)
	await ended(recorder, wrong)
	check_equal(recorder.reasons(wrong), PackedStringArray(["error"]), "reasons")

	llm.temperature = 0.0
	llm.max_tokens = 0
	var full: int = llm.complete(FOX)
	await ended(recorder, full)
	check_equal(recorder.reasons(full), PackedStringArray(["length"]), "reasons")
	check_equal(llm.get_stats()["context_used"], 16, "the context is full")


func test_outside_the_tree() -> void:
	var llm: Node = make_llm()
	remove_child(llm)
	var recorder: RefCounted = record(llm)
	expect_error("not inside the tree")
	var id: int = llm.ask("Hello")
	llm.start_worker()
	await ended(recorder, id)
	check_equal(recorder.reasons(id), PackedStringArray(["error"]), "reasons")
	check_equal(recorder.count("worker_failed"), 1, "worker_failed")
	llm.stop_generation()
	llm.reset_context()
	llm.free()


func test_starting_twice_loads_once() -> void:
	var llm: Node = make_llm()
	var recorder: RefCounted = record(llm)
	llm.start_worker()
	llm.start_worker()
	await until(func() -> bool: return recorder.count("worker_started") > 0, "worker_started")
	await frames(5)
	check_equal(recorder.count("worker_started"), 1, "worker_started")
	var pieces: int = recorder.count("load_progress")
	llm.start_worker()
	await frames(5)
	check_equal(recorder.count("worker_started"), 2, "worker_started, of a loaded model")
	check_equal(recorder.count("load_progress"), pieces, "no second load")


func test_what_the_inspector_shows() -> void:
	var hints: Dictionary = {}
	for property: Dictionary in ClassDB.class_get_property_list(&"LLM", true):
		hints[property["name"]] = [property["type"], property["hint"], property["hint_string"]]
	check_equal(hints.get("model_path"), [TYPE_STRING, PROPERTY_HINT_FILE, "*.gguf"], "model_path")
	check_equal(
		hints.get("executor"),
		[TYPE_STRING, PROPERTY_HINT_ENUM, "auto,reference,dispatch,persistent"],
		"executor"
	)
	check_equal(hints.get("temperature")[1], PROPERTY_HINT_RANGE, "the hint of temperature")
	check_equal(hints.get("system_prompt")[1], PROPERTY_HINT_MULTILINE_TEXT, "system_prompt's hint")
	check_equal(hints.get("stop_words")[0], TYPE_PACKED_STRING_ARRAY, "the type of stop_words")
	var defaults: Dictionary = {
		"max_tokens": 512,
		"temperature": 0.8,
		"top_k": 40,
		"top_p": 0.95,
		"min_p": 0.05,
		"repeat_penalty": 1.0,
		"seed": -1,
		"context_length": 4096,
	}
	for property: String in defaults:
		var value: Variant = ClassDB.class_get_property_default_value(&"LLM", property)
		check_equal(value, defaults[property], "the default of " + property)
	for method: String in ["start_worker", "ask", "complete", "stop_generation", "get_stats"]:
		check(ClassDB.class_has_method(&"LLM", method, true), "there is a method " + method)
	check(not ClassDB.class_has_method(&"LLM", "_request", true), "what is private is not shown")
	check_equal(ClassDB.get_parent_class(&"LLM"), &"Node", "its base")
