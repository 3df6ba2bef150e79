extends "res://tests/godot/llm_case.gd"
## What a game sees of a model at work.

const LAYERS: int = 18
const HEADS: int = 4

var _told: Array[Array] = []  # kinds, each with its Dictionary


func test_an_answer_that_is_xrayed() -> void:
	var llm: Node = _make({"top_k": 5, "temperature": 0.7, "seed": 1})
	var id: int = llm.complete(FOX)
	await llm.response_ended
	var prompt: Dictionary = _all("prompt")[0]
	check_equal(prompt["id"], id, "the request")
	check_equal("".join(prompt["texts"]), "<bos>" + FOX, "what is read")
	var tokens: Array[Dictionary] = _all("token")
	var ids: Array = tokens.map(func(told: Dictionary) -> int: return told["token"])
	check_equal(ids, llm.get_stats()["token_ids"], "the tokens")
	for index: int in tokens.size():
		var told: Dictionary = tokens[index]
		check_equal(told["position"], prompt["tokens"].size() + index, "position %d" % index)
		var names: Array = told["stages"].map(func(s: Dictionary) -> String: return s["name"])
		check_equal(names, ["model", "top_k", "top_p", "min_p", "temperature"], "the samplers")
		check_equal(told["stages"][0]["left"], 262144, "what may come at first")
		check(told["stages"][1]["left"] == 5, "what top_k leaves")
		check(told["stages"][0]["entropy"] > 0.0, "a choice")
		var drawn: Dictionary = told["candidates"][0]
		check_equal(drawn["token"], told["token"], "the first candidate")
		check_equal(drawn["probabilities"].size(), 5, "a probability for each stage")
		check(drawn["probabilities"][-1] > 0.0, "it could be drawn")
		var pages: Dictionary = told["pages"]
		check_equal(pages["cells"], told["position"], "tokens in the cache")
		check_equal(pages["own"].size(), 1, "pages")
		check_equal(pages["users"][pages["own"][0]], 1, "who has the page")


func test_the_text_is_the_same_without() -> void:
	var llm: Node = _make({"max_tokens": 6, "temperature": 1.0, "seed": 5})
	var text: String = await llm.complete_async(FOX)
	var count: int = _told.size()
	llm.xray = false
	check_equal(await llm.complete_async(FOX), text, "the text")
	check_equal(_told.size(), count, "what is told when it is off")


func test_attention_of_any_layer() -> void:
	var llm: Node = _make()
	await llm.complete_async(FOX)
	for layer: int in [0, LAYERS - 1] as Array[int]:
		llm.xray_attention(6, layer)
		await llm.xrayed
		var told: Dictionary = _told[-1][1]
		check_equal([_told[-1][0], told["position"], told["layer"]], ["attention", 6, layer], "it")
		check_equal(told["heads"].size(), HEADS, "heads")
		for head: PackedFloat32Array in told["heads"]:
			var total: float = 0.0
			for share: float in head:
				total += share
			check_equal(head.size(), 7, "tokens up to that one")
			check(absf(total - 1.0) < 1e-4, "all of a head's attention: %f" % total)


func test_layers() -> void:
	var llm: Node = _make({"xray": false})
	await llm.complete_async(FOX)
	llm.xray_layers()
	await llm.xrayed
	check_equal(_told[0][0], "layers", "the kind")
	var parts: Array = _told[0][1]["parts"]
	check_equal(parts.size(), LAYERS + 2, "parts")
	check_equal([parts[0]["name"], parts[0]["layer"]], ["embedding", -1], "the first")
	check_equal([parts[3]["name"], parts[3]["layer"]], ["layer 2", 2], "another")
	check_equal(parts[3]["heads"], HEADS, "heads")
	check_equal(parts[3]["cell_bytes"], 2 * 2 * 256, "keys and values of one head, in float16")
	for part: Dictionary in parts.slice(1):
		check(part["seconds"] > 0.0, part["name"] + " takes time")
	check_equal(await llm.complete_async(FOX), " the lazy dog.", "an answer after that")


func test_what_cannot_be_told() -> void:
	var llm: Node = _make()
	expect_error("no model is loaded")
	llm.xray_attention(0, 0)
	await frames(2)
	await llm.complete_async(FOX)
	_told.clear()
	expect_error("position is 99; the tokens known are 0 to")
	llm.xray_attention(99, 0)
	await until(func() -> bool: return llm.get_last_error().contains("99"), "the error")
	expect_error("layer 18 has no attention; those that have: 0, 1, 2")
	llm.xray_attention(0, LAYERS)
	await until(func() -> bool: return llm.get_last_error().contains("layer 18"), "the error")
	var kinds: Array = _told.map(func(told: Array) -> String: return told[0])
	check_equal(kinds, ["attention", "attention"], "who waits is told")
	check_equal(_told[1][1]["heads"], [], "heads")
	check(_told[1][1]["error"].begins_with("layer 18 has"), "why")


func _make(settings: Dictionary = {}) -> Node:
	var llm: Node = make_llm({"xray": true, "max_tokens": 4}.merged(settings, true))
	llm.xrayed.connect(
		func(kind: String, xray: Dictionary) -> void: _told.append([kind, xray] as Array)
	)
	return llm


func _all(kind: String) -> Array[Dictionary]:
	var found: Array[Dictionary] = []
	for told: Array in _told:
		if told[0] == kind:
			found.append(told[1])
	return found
