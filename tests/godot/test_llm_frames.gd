extends "res://tests/godot/llm_case.gd"
## How much of the GPU's time answers take in a frame, and whose prompt comes first.

const LIMIT_MS: float = 4.0
const TOKENS: int = 12


func test_answers_keep_to_their_time_of_a_frame() -> void:
	var llm: Node = make_llm({"max_tokens": TOKENS})
	var text: String = await llm.complete_async(FOX)
	var token_ms: float = 1000.0 / llm.get_stats()["decode_tps"]
	llm.gpu_ms_per_frame = LIMIT_MS
	var before: int = Engine.get_process_frames()
	check_equal(await llm.complete_async(FOX), text, "the same text")
	var passed: int = Engine.get_process_frames() - before
	# half of what was measured, as no two runs take the same time
	var least: float = 0.5 * (TOKENS - 2) * token_ms / LIMIT_MS
	check(
		passed >= least,
		"%d frames; %.0f at least for tokens of %.1f ms" % [passed, least, token_ms]
	)


func test_a_long_prompt_is_split() -> void:
	var llm: Node = make_llm(
		{"max_tokens": 1, "gpu_ms_per_frame": LIMIT_MS, "context_length": 1024}
	)
	await llm.complete_async("Once")
	var before: int = Engine.get_process_frames()
	await llm.complete_async("A long story. ".repeat(20))
	check(Engine.get_process_frames() - before >= 10, "it takes many frames")
	check_equal(llm.get_end_reason(), "length", "and comes to its end")


func test_without_frames_it_goes_on() -> void:
	var llm: Node = make_llm({"max_tokens": 3, "gpu_ms_per_frame": 0.1})
	llm.process_mode = Node.PROCESS_MODE_DISABLED
	var id: int = llm.complete(FOX)
	await get_tree().create_timer(0.2).timeout
	llm.process_mode = Node.PROCESS_MODE_INHERIT
	await ended(record(llm), id)


func test_a_limit_that_is_none() -> void:
	var llm: Node = make_llm({"gpu_ms_per_frame": -1.0})
	expect_error("gpu_ms_per_frame is -1; it must be 0 or more")
	check_equal(await llm.complete_async(FOX), "", "refused")


func test_the_higher_priority_comes_first() -> void:
	var low: Node = make_llm({"max_tokens": 1, "priority": 0, "context_length": 1024})
	var high: Node = make_llm({"max_tokens": 1, "priority": 20, "context_length": 1024})
	await low.complete_async("Once")
	await high.complete_async("Once")
	var order: Array[String] = []
	low.response_ended.connect(func(_id: int, _reason: String) -> void: order.append("low"))
	high.response_ended.connect(func(_id: int, _reason: String) -> void: order.append("high"))
	low.complete("An old tale of the sea. ".repeat(20))
	high.complete("A new tale of the stars. ".repeat(20))
	await until(func() -> bool: return order.size() == 2, "both")
	check_equal(order[0], "high", "the first")
