extends "res://tests/godot/llm_case.gd"
## Several nodes of one file: one model, answers side by side, each with a conversation of its own.

const NODES: int = 4


func test_nodes_share_a_model() -> void:
	var nodes: Array[Node] = []
	var recorders: Array[RefCounted] = []
	var ids: Array[int] = []
	for number: int in NODES:
		nodes.append(make_llm({"max_tokens": 12}))
		recorders.append(record(nodes[number]))
	for llm: Node in nodes:
		ids.append(llm.complete(FOX))
	for number: int in NODES:
		await ended(recorders[number], ids[number])
	var first: String = recorders[0].text(ids[0])
	check(first.begins_with(" the lazy dog."), "the first: " + first)
	for number: int in NODES:
		check_equal(recorders[number].text(ids[number]), first, "node %d" % number)
		var reasons: PackedStringArray = recorders[number].reasons(ids[number])
		check_equal(reasons, PackedStringArray(["length"]), "reasons of node %d" % number)
	var memory: PackedInt64Array = []
	var cached: PackedInt64Array = []
	for llm: Node in nodes:
		memory.append(llm.get_stats()["memory_bytes"])
		cached.append(llm.get_stats()["cached_tokens"])
	check_equal(memory.count(memory[0]), NODES, "one model: %s" % memory)
	check(cached.count(0) < NODES, "the same prompt is computed once: %s" % cached)


func test_one_that_leaves_takes_nothing_from_the_others() -> void:
	var stays: Node = make_llm({"max_tokens": 60})
	var leaves: Node = make_llm({"max_tokens": 60})
	var recorder: RefCounted = record(stays)
	var other: RefCounted = record(leaves)
	var id: int = stays.complete(FOX)
	var lost: int = leaves.complete(FOX)
	await until(func() -> bool: return not other.text(lost).is_empty(), "both answer")
	leaves.free()
	await ended(recorder, id)
	check_equal(other.reasons(lost), PackedStringArray(["cancelled"]), "the one that left")
	check_equal(recorder.reasons(id), PackedStringArray(["length"]), "the one that stayed")
	check(recorder.text(id).begins_with(" the lazy dog."), "its answer: " + recorder.text(id))


func test_each_keeps_its_conversation() -> void:
	var nodes: Array[Node] = []
	for number: int in 2:
		nodes.append(make_llm({"system_prompt": "You are a guard. Be brief."}))
	var recorders: Array[RefCounted] = [record(nodes[0]), record(nodes[1])]
	for turn: int in 2:
		var ids: Array[int] = []
		for number: int in 2:
			ids.append(nodes[number].ask("Question %d of player %d" % [turn, number]))
		for number: int in 2:
			await ended(recorders[number], ids[number])
	for number: int in 2:
		var history: Array = nodes[number].get_chat_history()
		check_equal(history.size(), 4, "messages of %d" % number)
		check_equal(history[2]["content"], "Question 1 of player %d" % number, "its question")
		check(nodes[number].get_stats()["cached_tokens"] > 0, "what was computed is kept")


func test_starting_many_loads_once() -> void:
	var nodes: Array[Node] = []
	var recorders: Array[RefCounted] = []
	for number: int in NODES:
		nodes.append(make_llm())
		recorders.append(record(nodes[number]))
		nodes[number].start_worker()
	for number: int in NODES:
		var recorder: RefCounted = recorders[number]
		await until(func() -> bool: return recorder.count("worker_started") == 1, "a start")
	nodes[0].start_worker()
	await frames(5)
	check_equal(recorders[0].count("worker_started"), 2, "told again")
	check_equal(recorders[1].count("worker_started"), 1, "only the one that asked")
