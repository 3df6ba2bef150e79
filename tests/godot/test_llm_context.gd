extends "res://tests/godot/llm_case.gd"
## A conversation that grows beyond the context.


func test_the_oldest_turns_are_left_out() -> void:
	var llm: Node = make_llm({"context_length": 96, "max_tokens": 8, "system_prompt": "Be brief."})
	var dropped: Array[int] = []
	llm.history_truncated.connect(func(count: int) -> void: dropped.append(count))
	var turns: int = 6
	for turn: int in turns:
		await llm.ask_async("This is question number %d, and what do you say?" % turn)
		check(llm.get_end_reason() in ["stop", "length"], "turn %d: " % turn + llm.get_end_reason())
		check(llm.get_stats()["context_used"] <= 96, "tokens: %d" % llm.get_stats()["context_used"])
	check(not dropped.is_empty(), "some were left out")
	var sum: int = dropped.reduce(func(all: int, count: int) -> int: return all + count, 0)
	var history: Array = llm.get_chat_history()
	check_equal(history.size(), 2 * turns - sum, "messages that are left")
	check_equal(history[-2]["content"].contains("number 5"), true, "the latest question")


func test_the_other_policies() -> void:
	for policy: String in ["error", "stop"]:
		var llm: Node = make_llm({"context_length": 32, "context_policy": policy})
		if policy == "error":
			expect_error("it must leave at least one")
		var reply: String = await llm.ask_async("one two three four five ".repeat(8))
		check_equal(reply, "", "nothing is said, " + policy)
		check_equal(llm.get_end_reason(), "length" if policy == "stop" else "error", policy)
		check_equal(await llm.complete_async(FOX), " the lazy dog.", "the next request, " + policy)


func test_asking_again_and_editing() -> void:
	var llm: Node = make_llm()
	var recorder: RefCounted = record(llm)
	await llm.ask_async("Who are you?")
	var again: int = llm.regenerate()
	await ended(recorder, again)
	check_equal(llm.get_chat_history().size(), 2, "one question, one answer")
	llm.edit_message(1, "A guard.")
	check_equal(llm.get_chat_history()[1]["content"], "A guard.", "what was put there")
	await llm.ask_async("It is raining.", "system")
	check_equal(llm.get_chat_history()[2]["role"], "system", "who said it")
	expect_error("there is no message 9")
	llm.edit_message(9, "nobody")
	check_equal(llm.get_chat_history().size(), 4, "nothing has changed")
