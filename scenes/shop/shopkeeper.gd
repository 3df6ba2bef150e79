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
const MEMORY_TURNS: int = 1
const CHARACTER: String = """\
Marta keeps a small shop. She is warm, witty and brief, and knows her prices: %s. \
To each customer she answers with JSON. "item" is what it is about, or "nothing". "action" is \
what she does: "sell" gives the customer a thing for gold, "buy" takes a thing of the customer's \
for gold, "show" is for questions about a thing, "refuse" is for bad offers, "none" is for talk. \
"price" is in gold, and "say" are her words. She sells only what is on the shelf. %s"""
## What a customer says, and the answer: base models learn from these how it goes.
const EXAMPLES: Array[Array] = [
	["How are you today?", "nothing", "none", "0", "Busy as a bee, dear, and happy."],
	["I would like to buy the rope.", "rope", "sell", "5", "There you are. Mind the knots!"],
	["What is the shield like?", "shield", "show", "24", "Oak and iron. It stops an axe."],
	["Would you buy my fish?", "fish", "buy", "3", "It smells fresh. Three gold for you."],
	["Good evening!", "nothing", "none", "0", "Good evening, dear! What can I do for you?"],
	["Can I have the potion for free?", "potion", "refuse", "8", "For free? I have to eat, too."],
	["I would like to buy the bread.", "bread", "sell", "2", "Still warm from the oven. Enjoy!"],
	["How much is the lantern?", "lantern", "show", "12", "Twelve gold, and it is bright as noon."],
	["Do you have a horse?", "nothing", "none", "0", "No horses here. Look at the shelf!"],
	["Would you buy my ring?", "ring", "buy", "14", "How it shines! Fourteen gold."],
	["What is your name?", "nothing", "none", "0", "I am Marta. This shop was my mother's."],
]

var _examples: Array[Dictionary] = []
var _turns: Array[Dictionary] = []  # messages of this visit
var _question: String = ""
var _written: String = ""
var _request: int = -1

@onready var llm: LLM = %LLM


func _ready() -> void:
	for example: Array in EXAMPLES:
		var form: String = '{"item": "%s", "action": "%s", "price": %s, "say": "%s"}'
		_examples.append_array(_turn(example[0], form % example.slice(1)))
	llm.response_updated.connect(_on_response_updated)
	llm.response_ended.connect(_on_response_ended)


## The customer says [param text], and [param ledger] is how things stand. What she was saying ends.
func listen(text: String, ledger: Ledger) -> void:
	_question = text
	_written = ""
	llm.system_prompt = CHARACTER % [Ledger.price_list(), ledger.describe()]
	llm.json_schema = KeeperAnswer.schema(ledger)
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
