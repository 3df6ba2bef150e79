extends "res://tests/godot/llm_case.gd"
## A conversation that is saved, and goes on in another node, whose model was loaded anew.

const PATH: String = "user://test.state"
const QUESTION: String = "What do you sell, and what does it cost? I have little."


func test_it_goes_on_without_computing_again() -> void:
	var settings: Dictionary = {"system_prompt": "You are a merchant.", "max_tokens": 8}
	var llm: Node = make_llm(settings)
	await llm.ask_async(QUESTION)
	check(llm.save_state(PATH, true), "it is accepted")
	check_equal(await llm.state_saved, "", "saved")
	var history: Array = llm.get_chat_history()
	var expected: String = await llm.ask_async("And then?")
	var known: int = llm.get_stats()["cached_tokens"]
	llm.free()  # the last of its file: the model is given up

	var other: Node = make_llm({"max_tokens": 8})
	check(other.load_state(PATH), "it is accepted")
	check_equal(other.get_chat_history(), history, "history, at once")
	check_equal(other.system_prompt, "You are a merchant.", "the system prompt")
	check(other.is_loading(), "the model loads")
	check_equal(await other.state_loaded, "", "loaded")
	check_equal(await other.ask_async("And then?"), expected, "the same continuation")
	check_equal(other.get_stats()["cached_tokens"], known, "tokens that were there")
	check(known > 20, "which were many")


func test_the_answer_waits_for_what_was_saved() -> void:
	var llm: Node = make_llm()
	await llm.ask_async(QUESTION)
	llm.save_state(PATH, true)
	await llm.state_saved
	llm.reset_context()
	llm.load_state(PATH)
	await llm.ask_async("And then?")
	check(llm.get_stats()["cached_tokens"] > 20, "it was there before the answer")


func test_a_conversation_alone() -> void:
	var llm: Node = make_llm({"model_path": "echo:"})
	await llm.ask_async("Hello")
	check(llm.save_state(PATH), "saved")
	check_equal(await llm.state_saved, "", "no error")
	var other: Node = new_llm({"model_path": ""})  # outside the tree, and without a model
	check(other.load_state(ProjectSettings.globalize_path(PATH)), "loaded")
	check_equal(other.get_chat_history(), llm.get_chat_history(), "history")
	add_child(other)
	check_equal(await other.state_loaded, "", "no error")


func test_another_model_takes_the_conversation_alone() -> void:
	var llm: Node = make_llm({"model_path": "echo:"})
	await llm.ask_async("Hello")
	llm.save_state(PATH, true)
	check_equal(await llm.state_saved, "", "saved")
	var other: Node = make_llm()
	expect_error("is 0 of echo, and")
	other.load_state(PATH)
	var error: String = await other.state_loaded
	check("the conversation is there" in error, error)
	check_equal(other.get_chat_history(), llm.get_chat_history(), "history")
	await other.ask_async("And then?")
	check_equal(other.get_stats()["cached_tokens"], 0, "tokens that were there")


func test_what_cannot_be_used_changes_nothing() -> void:
	var llm: Node = make_llm({"model_path": "echo:"})
	await llm.ask_async("Hello")
	var history: Array = llm.get_chat_history()
	var damaged: String = "user://damaged.state"
	FileAccess.open(damaged, FileAccess.WRITE).store_buffer("LLMSTATE".to_utf8_buffer())
	expect_error("file: needs 28 bytes but 8 remain")
	expect_error("file: cannot be opened")
	for path: String in [damaged, "user://no_such.state"]:
		check(not llm.load_state(path), path)
		var error: String = await llm.state_loaded
		check_equal(error, llm.get_last_error(), "what is told")
	expect_error("file: cannot be written")
	check(not llm.save_state("user://no_such_folder/a.state"), "where it cannot be")
	check("cannot be written" in await llm.state_saved, "what is told")
	check_equal(llm.get_chat_history(), history, "history")

	llm.context_length = 32768
	llm.max_tokens = 0
	llm.ask("And then? ".repeat(1500))
	expect_error("still being answered")
	check(not llm.save_state(PATH), "while a request runs")
	check("still being answered" in await llm.state_saved, "what is told")
	llm.stop_generation()
	check_equal(await llm.ask_async("Bye"), "Bye", "it goes on")


func test_a_node_that_leaves_keeps_the_conversation_it_saved() -> void:
	var llm: Node = make_llm({"model_path": "echo:"})
	await llm.ask_async("Hello")
	var told: Array[String] = []
	llm.state_saved.connect(func(error: String) -> void: told.append(error))
	llm.save_state(PATH, true)
	llm.free()
	check_equal(told.size(), 1, "how often it is told")
	check("given up" in told[0], "and what: " + told[0])
	var other: Node = new_llm()
	check(other.load_state(PATH), "loaded")
	check_equal(other.get_chat_history().size(), 2, "messages")
	other.free()
