extends "res://tests/godot/llm_case.gd"
## A sampling resource on the real model.


func test_its_values_count_and_not_the_nodes() -> void:
	var sampling: LLMSampling = LLMSampling.new()
	sampling.preset = "greedy"
	var llm: LLM = make_llm({"temperature": 50.0, "top_k": 0, "sampling": sampling})
	check_equal(await llm.complete_async(FOX), " the lazy dog.", "greedily")
	sampling.temperature = 1.0
	sampling.top_k = 0
	sampling.repeat_penalty = -1.0
	expect_error("repeat_penalty is -1")
	var recorder: RefCounted = record(llm)
	var id: int = llm.complete(FOX)
	await ended(recorder, id)
	check_equal(recorder.reasons(id), PackedStringArray(["error"]), "reasons")
	check(llm.get_last_error().contains("repeat_penalty is -1"), "names the value")
