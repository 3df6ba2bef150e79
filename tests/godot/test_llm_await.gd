extends "res://tests/godot/llm_case.gd"
## Answers that are awaited: the text comes back on every path, and the node says why it ended.

var _replies: Array[String] = []


func test_a_reply_is_awaited() -> void:
	var llm: Node = make_llm()
	check_equal(llm.get_end_reason(), "", "before the first")
	var reply: String = await llm.complete_async(FOX)
	check_equal(reply, " the lazy dog.", "the reply")
	check_equal(llm.get_end_reason(), "length", "the reason")
	var answer: String = await llm.ask_async("Hello")
	check_equal(llm.get_chat_history()[1]["content"], answer, "what the history has")


func test_each_awaits_its_own() -> void:
	var nodes: Array[Node] = [make_llm({"max_tokens": 3}), make_llm({"max_tokens": 6})]
	for llm: Node in nodes:
		_await_reply(llm)
	await until(func() -> bool: return _replies.size() == 2, "both replies")
	check_equal(_replies, [" the lazy dog", " the lazy dog.\n\nThe"], "the replies")


func test_a_stopped_answer_comes_back() -> void:
	var llm: Node = make_llm({"max_tokens": 200})
	var recorder: RefCounted = record(llm)
	_await_reply(llm)
	await until(func() -> bool: return recorder.count("response_updated") > 2, "a piece")
	check(_replies.is_empty(), "not before its end")
	llm.stop_generation()
	await until(func() -> bool: return _replies.size() == 1, "the reply")
	check(_replies[0].begins_with(" the lazy"), "what was said: " + _replies[0])
	check_equal(llm.get_end_reason(), "cancelled", "the reason")


func test_refused_and_failed_requests_come_back() -> void:
	var llm: Node = make_llm({"max_tokens": 200})
	_await_reply(llm)
	expect_error("request")
	var refused: String = await llm.ask_async("And this?")
	check_equal(refused, "", "nothing was said")
	check_equal(llm.get_end_reason(), "error", "the reason")
	check("still being answered" in llm.get_last_error(), llm.get_last_error())
	llm.stop_generation()
	await until(func() -> bool: return _replies.size() == 1, "the other")
	expect_error("does not exist")
	llm.model_path = "user://nothing.gguf"
	check_equal(await llm.complete_async(FOX), "", "without a model")
	check_equal(llm.get_end_reason(), "error", "the reason")


func test_outside_the_tree_and_freed() -> void:
	var llm: Node = new_llm()
	expect_error("not inside the tree")
	check_equal(await llm.complete_async(FOX), "", "outside the tree")
	llm.max_tokens = 200
	add_child(llm)
	_await_reply(llm)
	await frames(2)
	llm.free()
	check_equal(_replies.size(), 1, "its end comes when it leaves")


func _await_reply(llm: Node) -> void:
	var reply: String = await llm.complete_async(FOX)
	_replies.append(reply)
