extends "res://tests/godot/llm_case.gd"
## Answers that keep to a form: JSON, a grammar, a regular expression, or one of some texts.

const OFFER: Dictionary = {
	"type": "object",
	"properties":
	{
		"item": {"enum": ["sword", "shield", "bow"]},
		"price": {"type": "integer", "minimum": 1, "maximum": 99},
		"note": {"type": "string", "maxLength": 12},
	},
	"required": ["item", "price", "note"],
	"additionalProperties": false,
}
const HOT: Dictionary = {"temperature": 1.5, "top_k": 0, "top_p": 1.0, "min_p": 0.0}


func test_json_by_a_schema() -> void:
	for schema: Variant in [OFFER, JSON.stringify(OFFER)]:
		var llm: Node = _make_hot({"json_schema": schema, "seed": 3})
		var found: Variant = LLM.parse_json(await llm.ask_async("What do you sell?"))
		check_equal(llm.get_end_reason(), "stop", "the reason")
		check(found is Dictionary, "a Dictionary: %s" % [found])
		check(found["item"] in ["sword", "shield", "bow"], "an item of the list: " + found["item"])
		check_equal(typeof(found["price"]), TYPE_INT, "a whole number's type")
		check(found["price"] >= 1 and found["price"] <= 99, "the price: %d" % found["price"])
		check(found["note"].length() <= 12, "the note: " + found["note"])


func test_each_answer_begins_anew() -> void:
	var llm: Node = _make_hot({"choices": PackedStringArray(["attack", "flee", "talk"])})
	for _turn: int in 3:
		var reply: String = await llm.ask_async("A wolf! What do you do?")
		check(reply in ["attack", "flee", "talk"], "one of the choices: " + reply)
	llm.choices = PackedStringArray()
	llm.regex = "[A-Z][a-z]{2,5}-[0-9]{2}"
	var code: String = await llm.ask_async("The code?")
	var pattern: RegEx = RegEx.create_from_string("^[A-Z][a-z]{2,5}-[0-9]{2}$")
	check(pattern.search(code) != null, "the code: " + code)
	llm.regex = ""
	llm.grammar = 'root ::= "yes" | "no, " reason\nreason ::= "never" | "not now"'
	var reply: String = await llm.complete_async("Will you help? ")
	check(reply in ["yes", "no, never", "no, not now"], "by the grammar: " + reply)


func test_what_cannot_be_kept_to() -> void:
	var llm: Node = make_llm({"choices": PackedStringArray(["a"]), "regex": "b"})
	expect_error("regex and choices are set")
	check_equal(await llm.ask_async("Hi"), "", "with two forms")
	llm.choices = PackedStringArray()
	llm.regex = "("
	expect_error("regex:")
	check_equal(await llm.ask_async("Hi"), "", "with a wrong one")
	check_equal(llm.get_end_reason(), "error", "the reason")
	llm.regex = ""
	llm.json_schema = "[]"
	expect_error("json_schema is a list")
	check_equal(await llm.ask_async("Hi"), "", "with a wrong schema")
	llm.json_schema = null
	check(await llm.ask_async("Hi") != "", "the next turn works")


func test_json_that_is_none() -> void:
	expect_error("parse_json")
	check_equal(LLM.parse_json("{"), null, "what is no JSON")
	check_equal(LLM.parse_json('{"a": [1, 2.5]}'), {"a": [1, 2.5]}, "what is")
	check_equal(LLM.parse_json("9223372036854775807"), 9223372036854775807, "the largest int")
	check_equal(LLM.parse_json("9223372036854775808"), 9223372036854775808.0, "one more")


func test_probabilities_of_tokens() -> void:
	var llm: Node = make_llm({"n_probs": 3, "max_tokens": 3})
	check_equal(await llm.complete_async(FOX), " the lazy dog", "the reply")
	var told: Array = llm.get_token_probabilities()
	check_equal(told.size(), 3, "a Dictionary for each token")
	for each: Dictionary in told:
		check_equal(each["candidates"].size(), 3, "candidates")
		check_equal(each["candidates"][0]["token"], each["token"], "greedy takes the likeliest")
		check(each["probability"] > 0.1 and each["probability"] <= 1.0, "a probability")
	check_equal(told[1]["text"], " lazy", "the second token")
	llm.n_probs = 0
	await llm.complete_async(FOX)
	check_equal(llm.get_token_probabilities(), [], "where it is off")


func _make_hot(settings: Dictionary) -> Node:
	return make_llm(HOT.merged({"max_tokens": 60}).merged(settings))
