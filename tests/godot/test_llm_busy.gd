extends "res://tests/godot/llm_case.gd"
## A request that comes while another runs: refused (test_llm_node.gd), queued, or in its place.


func test_queued_requests_come_one_after_the_other() -> void:
	var llm: Node = make_llm({"busy_policy": "queue"})
	var recorder: RefCounted = record(llm)
	var ids: Array[int] = []
	for question: String in ["One?", "Two?", "Three?"]:
		ids.append(llm.ask(question))
	for id: int in ids:
		await ended(recorder, id)
		check_equal(recorder.reasons(id), PackedStringArray(["length"]), "reasons")
	var asked: PackedStringArray = []
	for message: Dictionary in llm.get_chat_history():
		if message["role"] == "user":
			asked.append(message["content"])
	check_equal(asked, PackedStringArray(["One?", "Two?", "Three?"]), "the order")


func test_a_request_takes_the_place_of_another() -> void:
	var llm: Node = make_llm({"busy_policy": "replace", "max_tokens": 200})
	var recorder: RefCounted = record(llm)
	var first: int = llm.complete(FOX)
	await until(func() -> bool: return not recorder.text(first).is_empty(), "a piece")
	llm.max_tokens = 4
	var second: int = llm.complete(FOX)
	await ended(recorder, second)
	check_equal(recorder.reasons(first), PackedStringArray(["cancelled"]), "the first")
	check_equal(recorder.text(second), " the lazy dog.", "the second")


func test_leaving_ends_all_that_wait() -> void:
	var llm: Node = make_llm({"busy_policy": "queue", "max_tokens": 200})
	var recorder: RefCounted = record(llm)
	var ids: Array[int] = [llm.complete(FOX), llm.complete(FOX), llm.complete(FOX)]
	await frames(3)
	llm.free()
	for id: int in ids:
		check_equal(recorder.reasons(id), PackedStringArray(["cancelled"]), "reasons of %d" % id)
