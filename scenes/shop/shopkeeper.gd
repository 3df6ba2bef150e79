class_name Shopkeeper
extends Node
## The shopkeeper's mind: what the model is told, and what becomes of its answer.

## She has said [param text] so far.
signal spoke(text: String)
## She has ended, and decided on [param answer].
signal decided(answer: KeeperAnswer)
## She was stopped, or nothing came of it; [param problem] says why, and is empty where that was
## wanted.
signal fell_silent(problem: String)

## Turns of this visit that she remembers; the examples she has always.
const MEMORY_TURNS: int = 3
const CHARACTER: String = """\
Marta keeps a small shop. She is warm, witty and brief, and knows her prices: %s. \
To each customer she answers with JSON. "action" is what she does: "sell" gives the customer a \
thing for gold, "buy" takes a thing of the customer's for gold, "show" is for questions about a \
thing, "refuse" is for bad offers, "none" is for talk. "item" is the thing or "nothing", "price" \
is in gold, and "say" are her words. She sells only what is on the shelf. %s"""
## What a customer says, and the answer: base models learn from these how it goes.
const EXAMPLES: Array[Array] = [
	["I will take the rope.", "sell", "rope", "5", "There you are. Mind the knots!"],
	["How much is the rope?", "show", "rope", "5", "Five gold, and it holds an ox."],
	["Would you buy my fish?", "buy", "fish", "3", "It smells fresh. Three gold for you."],
	["How are you today?", "none", "nothing", "0", "Busy as a bee, dear, and happy."],
	["Give me the shield for one gold!", "refuse", "shield", "24", "One gold? I have to eat, too."],
	["What is the lantern like?", "show", "lantern", "12", "Bright as noon, and twelve gold."],
	["I would like to buy a bread.", "sell", "bread", "2", "Still warm from the oven. Enjoy!"],
	["Do you have a horse?", "none", "nothing", "0", "No horses here, only good things."],
	["Good evening!", "none", "nothing", "0", "Good evening, dear! What can I do for you?"],
]

var _examples: Array[Dictionary] = []
var _turns: Array[Dictionary] = []  # messages of this visit
var _question: String = ""
var _written: String = ""
var _request: int = -1

@onready var llm: LLM = %LLM


func _ready() -> void:
	llm.json_schema = KeeperAnswer.schema(PackedStringArray(Ledger.WORTH.keys()))
	for example: Array in EXAMPLES:
		var form: String = '{"action": "%s", "item": "%s", "price": %s, "say": "%s"}'
		_examples.append_array(_turn(example[0], form % example.slice(1)))
	llm.response_updated.connect(_on_response_updated)
	llm.response_ended.connect(_on_response_ended)


## The customer says [param text], and [param ledger] is how things stand. What she was saying ends.
func listen(text: String, ledger: Ledger) -> void:
	_question = text
	_written = ""
	llm.system_prompt = CHARACTER % [Ledger.price_list(), ledger.describe()]
	llm.set_chat_history(_examples + _turns)
	_request = llm.ask(_question)


## She says no more.
func hush() -> void:
	llm.stop_generation()


static func _turn(question: String, answer: String) -> Array[Dictionary]:
	return [
		{"role": "user", "content": question},
		{"role": "assistant", "content": answer},
	]


func _on_response_updated(id: int, piece: String) -> void:
	if id != _request:
		return
	_written += piece
	var words: String = PartialJson.text_of(_written, "say")
	if not words.is_empty():
		spoke.emit(words)


func _on_response_ended(id: int, reason: String) -> void:
	if id != _request:
		return
	_request = -1
	match reason:
		"stop":
			_turns = (_turns + _turn(_question, _written)).slice(-2 * MEMORY_TURNS)
			decided.emit(KeeperAnswer.parse(_written))
		"error":
			fell_silent.emit(llm.get_last_error())
		_:
			fell_silent.emit("")
