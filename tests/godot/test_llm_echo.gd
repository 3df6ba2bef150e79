extends "res://tests/godot/llm_case.gd"
## The model without a file, with which authors test their games. None of this needs a GPU.


func test_it_says_what_it_was_asked() -> void:
	var llm: Node = make_echo()
	var recorder: RefCounted = record(llm)
	var id: int = llm.ask("Hello, wörld 🦊")
	check_equal(recorder.entries, [] as Array[Array], "signals before the call returned")
	await ended(recorder, id)
	var names: Array[String] = [
		"load_progress", "worker_started", "response_updated", "response_finished", "response_ended"
	]
	check_equal(recorder.order(), PackedStringArray(names), "the order of signals")
	check_equal(recorder.text(id), "Hello, wörld 🦊", "the pieces")
	check_equal(recorder.reasons(id), PackedStringArray(["stop"]), "reasons")
	check_equal(recorder.off_main_thread, 0, "signals on other threads")
	var history: Array = llm.get_chat_history()
	check_equal(history[0], {"role": "user", "content": "Hello, wörld 🦊"}, "the question")
	check_equal(history[1], {"role": "assistant", "content": "Hello, wörld 🦊"}, "the answer")

	var stats: Dictionary = llm.get_stats()
	for key: String in ["model", "architecture", "executor"]:
		check_equal(stats[key], "echo", key)
	check_equal(stats["context_length"], 4096, "context length")
	check_equal(stats["generated_tokens"], 18, "a token is a byte")
	check_equal(llm.count_tokens("wörld"), 6, "count_tokens")
	check_equal(await llm.ask_async("And?", "system"), "And?", "who else asks")
	check(llm.get_stats()["cached_tokens"] > 34, "what was computed is known")
	check_equal(await llm.complete_async(" raw text"), " raw text", "a completion")


func test_it_says_what_the_test_wants() -> void:
	var llm: Node = make_echo({"model_path": "echo:Who goes there?"})
	check_equal(await llm.ask_async("Hi"), "Who goes there?", "a reply")
	llm.model_path = "echo:Pass, friend / foe."
	check_equal(await llm.ask_async("A friend."), "Pass, friend / foe.", "the next")
	check_equal(llm.get_chat_history().size(), 4, "one conversation")


func test_options_count_as_with_any_model() -> void:
	var llm: Node = make_echo({"max_tokens": 5})
	check_equal(await llm.ask_async("Hello there"), "Hello", "max_tokens")
	check_equal(llm.get_end_reason(), "length", "the reason")
	llm.max_tokens = 0
	llm.stop_words = PackedStringArray(["the"])
	check_equal(await llm.ask_async("Hello there"), "Hello ", "stop words")
	check_equal(llm.get_end_reason(), "stop_word", "the reason")
	llm.temperature = 2.0
	llm.top_k = 0
	llm.repeat_penalty = 2.0
	check_equal(await llm.ask_async("aaaaaa"), "aaaaaa", "no sampling changes it")
	llm.context_length = 64
	var dropped: Array[int] = []
	llm.history_truncated.connect(func(count: int) -> void: dropped.append(count))
	check_equal(await llm.ask_async("a longer question"), "a longer question", "truncated")
	check(not dropped.is_empty(), "the oldest turns are left out")


func test_requests_end_as_with_any_model() -> void:
	var llm: Node = make_echo({"max_tokens": 0, "context_length": 32768})
	var recorder: RefCounted = record(llm)
	var long: String = "all the king's horses ".repeat(700)
	var stopped: int = llm.ask(long)
	await until(func() -> bool: return not recorder.text(stopped).is_empty(), "a piece")
	expect_error("still being answered")
	check_equal(await llm.ask_async("Hi"), "", "a busy node")
	llm.stop_generation()
	await ended(recorder, stopped)
	check_equal(recorder.reasons(stopped), PackedStringArray(["cancelled"]), "reasons")
	check(long.begins_with(recorder.text(stopped)), "what was said until then")
	llm.busy_policy = "queue"
	var ids: Array[int] = [llm.ask("one"), llm.ask("two")]
	for id: int in ids:
		await ended(recorder, id)
	check_equal(recorder.text(ids[1]), "two", "what waited")
	expect_error("does not exist")
	llm.model_path = "res://no_such_model.gguf"
	check_equal(await llm.ask_async("Hi"), "", "where the load fails")
	check_equal(llm.get_end_reason(), "error", "the reason")
	check_equal(recorder.count("worker_failed"), 1, "loads that failed")


func test_nodes_of_one_echo_answer_side_by_side() -> void:
	var replies: Dictionary = {}
	for number: int in 4:
		var llm: Node = make_echo()
		var text: String = "I am %d. " % number
		llm.response_finished.connect(func(_id: int, said: String) -> void: replies[text] = said)
		llm.ask(text.repeat(20))
	await until(func() -> bool: return replies.size() == 4, "four answers")
	for text: String in replies:
		check_equal(replies[text], text.repeat(20), "what each said")


func make_echo(settings: Dictionary = {}) -> Node:
	var all: Dictionary = {"model_path": "echo:", "context_length": 4096, "max_tokens": 512}
	all.merge(settings, true)
	return make_llm(all)
