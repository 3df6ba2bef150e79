extends "res://tests/godot/llm_case.gd"
## Methods of the game that a model calls. The echo says what it is asked, calls included.

const CALL: String = '<tool_call>{"name": "%s", "arguments": %s}</tool_call>'

var _calls: Array[Array] = []


func test_a_method_is_called_and_its_result_goes_back() -> void:
	var llm: Node = _make_echo()
	llm.add_tool(sell, "Sells an item.")
	var called: Array[Array] = []
	llm.tool_called.connect(
		func(id: int, name: String, given: Dictionary) -> void: called.append([id, name, given])
	)
	var reply: String = await llm.ask_async(CALL % ["sell", '{"item": "bow", "_count": 3.0}'])
	check_equal(_calls, [["bow", 3, 0.5, PackedStringArray(), []]], "the call")
	check_equal(typeof(_calls[0][1]), TYPE_INT, "a whole number's type")
	check_equal(called.size(), 1, "told once")
	check_equal(called[0][1], "sell", "the name")
	check(reply.contains('{\\"gold\\": 30}'), "the result: " + reply)
	check_equal(llm.get_end_reason(), "stop", "the reason")
	var roles: Array = llm.get_chat_history().map(
		func(message: Dictionary) -> String: return message["role"]
	)
	check_equal(roles, ["user", "assistant", "tool", "assistant"], "the history")
	check_equal(llm.get_chat_history()[1]["tool_calls"][0]["name"], "sell", "the call in it")


func test_arrays_by_their_type() -> void:
	var llm: Node = _make_echo()
	llm.add_tool(sell, "Sells an item.")
	var given: String = '{"item": "bow", "_count": "2", "discount": 1, "marks": ["a", "b"]'
	given += ', "to": [7]}'
	await llm.ask_async(CALL % ["sell", given])
	check_equal(_calls, [["bow", 2, 1.0, PackedStringArray(["a", "b"]), [7]]], "the call")
	check_equal(typeof(_calls[0][2]), TYPE_FLOAT, "a number's type")
	check_equal(_calls[0][4].get_typed_builtin(), TYPE_INT, "what the array holds")


func test_what_the_model_is_told() -> void:
	var llm: Node = _make_echo()
	llm.add_tool(sell, "Sells an item.")
	var parameters: Dictionary = llm.get_tools()[0]["parameters"]
	check_equal(parameters["required"], ["item", "_count"], "what must be given")
	check_equal(parameters["properties"]["_count"], {"type": "integer"}, "an int")
	check_equal(parameters["properties"]["discount"], {"type": "number"}, "a float")
	check_equal(
		parameters["properties"]["marks"], {"type": "array", "items": {"type": "string"}}, "texts"
	)
	llm.remove_tool("sell")
	check_equal(llm.get_tools(), [], "none is left")


func test_a_coroutine() -> void:
	var llm: Node = _make_echo()
	llm.add_tool(think_it_over, "Takes some frames.")
	var reply: String = await llm.ask_async(CALL % ["think_it_over", '{"about": "rain"}'])
	check(reply.contains("rain, after 3 frames"), "the result: " + reply)


func test_a_callable_with_a_schema() -> void:
	var llm: Node = _make_echo()
	var schema: Dictionary = {
		"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}
	}
	llm.add_tool_with_schema(func(a: int, b: int) -> int: return a * b, "multiply", "", schema)
	var reply: String = await llm.ask_async(CALL % ["multiply", '{"b": 7, "a": 6}'])
	check(reply.contains("42"), "the result: " + reply)


func test_mistakes_of_the_model_go_back_to_it() -> void:
	var llm: Node = _make_echo()
	llm.add_tool(sell, "Sells an item.")
	var failed: Array[String] = []
	llm.tool_failed.connect(
		func(_id: int, _name: String, error: String) -> void: failed.append(error)
	)
	for arguments: String in ['{"item": "bow"}', '{"item": "bow", "_count": "many"}']:
		var reply: String = await llm.ask_async(CALL % ["sell", arguments])
		check(reply.contains("error: "), "it is told: " + reply)
	check((await llm.ask_async(CALL % ["buy", "{}"])).contains("there is no tool buy"), "a name")
	check_equal(failed.size(), 3, "so is the game")
	check(failed[0].contains("lacks its argument _count"), failed[0])
	check(failed[1].contains("must be of type integer"), failed[1])
	check_equal(_calls, [], "nothing was called")


func test_numbers_that_are_too_large() -> void:
	var llm: Node = _make_echo()
	var schema: Dictionary = {"type": "object", "properties": {"a": {}}}
	llm.add_tool_with_schema(func(a: Variant) -> void: _calls.append([a]), "take", "", schema)
	await llm.ask_async(CALL % ["take", '{"a": 123456789012345678901234567890}'])
	check_equal(_calls, [[1.2345678901234568e29]], "as a float")
	check_equal(llm.get_end_reason(), "stop", "the reason")


func test_a_call_that_cannot_be_made() -> void:
	var llm: Node = _make_echo()
	var gone: Node = Node.new()
	var schema: Dictionary = {"type": "object", "properties": {}}
	llm.add_tool_with_schema(gone.get_child_count, "count", "", schema)
	gone.free()
	var reply: String = await llm.ask_async(CALL % ["count", "{}"])
	check(reply.contains("error: count is not there any more"), "it is told: " + reply)


func test_rounds_have_an_end() -> void:
	var llm: Node = _make_echo({"max_tool_rounds": 2})
	llm.model_path = "echo:" + CALL % ["again", "{}"]
	llm.add_tool(again, "Once more.")
	expect_error("more than 2 rounds")
	await llm.ask_async("Go")
	check_equal(llm.get_end_reason(), "error", "the reason")
	check_equal(_calls.size(), 2, "so often it ran")
	check_equal(llm.get_chat_history(), [], "no trace")


func test_leaving_and_stopping_while_a_tool_runs() -> void:
	var llm: Node = _make_echo()
	llm.add_tool(think_it_over, "Takes some frames.")
	var recorder: RefCounted = record(llm)
	var id: int = llm.ask(CALL % ["think_it_over", '{"about": "rain"}'])
	await until(func() -> bool: return _calls.size() == 1, "the call")
	llm.stop_generation()
	await ended(recorder, id)
	await frames(5)
	check_equal(recorder.count("response_ended"), 1, "ends")
	id = llm.ask(CALL % ["think_it_over", '{"about": "snow"}'])
	await until(func() -> bool: return _calls.size() == 2, "the call")
	llm.free()
	await frames(5)
	check_equal(_calls.size(), 2, "the tool ran to its end, and nobody minds")


func test_tools_that_cannot_be() -> void:
	var llm: Node = _make_echo()
	expect_error("add_tool takes a method of an object")
	llm.add_tool(func() -> void: pass, "A lambda.")
	expect_error("argument what of take_node must be declared")
	llm.add_tool(take_node, "No such type.")
	expect_error("there is no tool nothing")
	llm.remove_tool("nothing")
	check_equal(llm.get_tools(), [], "none")


func sell(
	item: String,
	_count: int,
	discount: float = 0.5,
	marks: PackedStringArray = [],
	to: Array[int] = [],
) -> Dictionary:
	_calls.append([item, _count, discount, marks, to])
	return {"gold": 10 * _count}


func think_it_over(about: String) -> String:
	_calls.append([about])
	for _frame: int in 3:
		await get_tree().process_frame
	return "%s, after 3 frames" % about


func again() -> void:
	_calls.append([])


func take_node(what: Node) -> void:
	_calls.append([what])


func _make_echo(settings: Dictionary = {}) -> Node:
	return make_llm(
		{"model_path": "echo:", "context_length": 4096, "max_tokens": 0}.merged(settings)
	)
