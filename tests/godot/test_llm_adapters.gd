extends "res://tests/godot/llm_case.gd"
## LoRA adapters of nodes that share the real model.

const AdapterFile: GDScript = preload("res://tests/godot/adapter_file.gd")
const PATH: String = "user://test_llm_adapters.gguf"
const PLAIN: String = " the lazy dog."


func test_each_node_has_its_own() -> void:
	AdapterFile.write(PATH)
	var adapter: LLMAdapter = _adapter()
	var changed: LLM = make_llm({"adapters": [adapter]})
	var plain: LLM = make_llm()
	var opposite: LLM = make_llm({"adapters": [_adapter(-1.0)]})
	var texts: PackedStringArray = []
	var recorders: Array[RefCounted] = []
	var ids: PackedInt64Array = []
	for llm: LLM in [changed, plain, opposite]:
		recorders.append(record(llm))
		ids.append(llm.complete(FOX))
	for number: int in ids.size():
		await ended(recorders[number], ids[number])
		texts.append(recorders[number].text(ids[number]))
	check_equal(texts[1], PLAIN, "without adapters")
	check(texts[0] != PLAIN and texts[2] != PLAIN, "with one: %s" % [texts])
	check(texts[0] != texts[2], "the other way: %s" % [texts])
	check_equal(await changed.complete_async(FOX), texts[0], "the same again")
	check(changed.get_stats()["cached_tokens"] > 0, "and what was computed is kept")
	DirAccess.remove_absolute(PATH)


func test_a_weight_changes_between_answers() -> void:
	AdapterFile.write(PATH)
	var adapter: LLMAdapter = _adapter(0.0)
	var llm: LLM = make_llm({"adapters": [adapter]})
	check_equal(await llm.complete_async(FOX), PLAIN, "weight 0")
	var memory: int = llm.get_stats()["memory_bytes"]
	DirAccess.remove_absolute(PATH)  # it is loaded, and not read again
	adapter.weight = 1.0
	var changed: String = await llm.complete_async(FOX)
	check(changed != PLAIN, "weight 1: " + changed)
	check_equal(llm.get_stats()["cached_tokens"], 0, "what was computed with weight 0")
	adapter.weight = 0.0
	check_equal(await llm.complete_async(FOX), PLAIN, "weight 0 again")
	llm.adapters = []
	check_equal(await llm.complete_async(FOX), PLAIN, "without it")
	check_equal(llm.get_stats()["memory_bytes"], memory, "as the model loaded")


func test_what_does_not_fit_ends_the_request() -> void:
	AdapterFile.write(PATH, "llama")
	var llm: LLM = make_llm({"adapters": [_adapter()]})
	for error: String in [
		"general.architecture: is 'llama', and the model's is 'gemma3'",
		"does not exist",
		"an adapter's path is empty",
		"adapters[1] is a LLMSampling; it must be an LLMAdapter",
	]:
		expect_error(error)
		await llm.complete_async(FOX)
		check_equal(llm.get_end_reason(), "error", error)
		check(llm.get_last_error().contains(error), "the error is " + llm.get_last_error())
		if error.begins_with("general"):
			DirAccess.remove_absolute(PATH)
		elif error.begins_with("does not"):
			llm.adapters = [LLMAdapter.new()]
		else:
			llm.adapters = [null, LLMSampling.new()]
	llm.adapters = [null]
	check_equal(await llm.complete_async(FOX), PLAIN, "it stays usable")


func test_the_echo_takes_any() -> void:
	var llm: LLM = make_llm({"model_path": "echo:", "max_tokens": 0, "adapters": [_adapter()]})
	check_equal(await llm.ask_async("Hello"), "Hello", "the answer")


func _adapter(weight: float = 1.0) -> LLMAdapter:
	var adapter: LLMAdapter = LLMAdapter.new()
	adapter.path = PATH
	adapter.weight = weight
	return adapter
