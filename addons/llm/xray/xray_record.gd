class_name XRayRecord
extends RefCounted
## What [signal LLM.xrayed] has told of the latest answer.

## Of prompt and answer, token by token.
var texts: PackedStringArray = []
var ids: PackedInt32Array = []
## Where the answer begins among them.
var answer_from: int = 0
## The latest pages: see [signal LLM.xrayed].
var pages: Dictionary = {}

var _choices: Dictionary[int, Dictionary] = {}


func begin(prompt: Dictionary) -> void:
	texts = prompt["texts"]
	ids = prompt["tokens"]
	answer_from = texts.size()
	pages = {}
	_choices.clear()


func add(token: Dictionary) -> void:
	texts.append(token["text"])
	ids.append(token["token"])
	pages = token["pages"]
	_choices[token["position"]] = token


## How the token there was chosen; empty where it belongs to the prompt.
func choice(position: int) -> Dictionary:
	return _choices.get(position, {})


## What the model gave to the token there; -1 where it belongs to the prompt.
func probability(position: int) -> float:
	var told: Dictionary = choice(position)
	return -1.0 if told.is_empty() else told["candidates"][0]["probabilities"][0]


## The token from whose place the model looked back when it chose this one; of the prompt, this one.
## -1 where nothing has been read yet.
func looked_from(position: int) -> int:
	if texts.size() == answer_from:
		return -1
	return position - 1 if position >= answer_from else position


## A token's text so that blanks and ends of lines are seen.
static func shown(text: String) -> String:
	if not text.is_empty() and text.strip_edges(true, true).is_empty():
		text = text.replace(" ", "␣")
	return text.replace("\n", "⏎").replace("\t", "⇥")
