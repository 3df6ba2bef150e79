class_name KeeperAnswer
extends RefCounted
## What the shopkeeper decided, and what she says to it.

## In the place of an item where the answer is about none.
const NOTHING: String = "nothing"

var item: String = NOTHING
## none, show, sell, buy or refuse; to sell and to buy are meant as she sees them.
var action: String = "none"
## In gold.
var price: int = 0
var say: String = ""


## The form of an answer in which all is possible as things stand in [param ledger]. The decision
## comes first, so that the words follow it.
static func schema(ledger: Ledger) -> Dictionary:
	var forms: Array[Dictionary] = [_form(NOTHING, ["none"], 0, 0)]
	for item: String in Ledger.WORTH:
		var lowest: int = Ledger.fair_price(item, 0)
		var highest: int = Ledger.fair_price(item, Ledger.WORTH[item] * 2)
		forms.append(_form(item, ledger.possible_actions(item), lowest, highest))
	return {"anyOf": forms}


## The answer that [param json] is, which keeps to [method schema].
static func parse(json: String) -> KeeperAnswer:
	var values: Dictionary = LLM.parse_json(json)
	var answer: KeeperAnswer = KeeperAnswer.new()
	answer.action = values["action"]
	answer.item = values["item"]
	answer.price = values["price"]
	answer.say = values["say"]
	return answer


static func _form(item: String, actions: PackedStringArray, low: int, high: int) -> Dictionary:
	return {
		"type": "object",
		"properties":
		{
			"item": {"const": item},
			"action": {"enum": Array(actions)},
			"price": {"type": "integer", "minimum": low, "maximum": high},
			"say": {"type": "string", "minLength": 4, "maxLength": 140},
		},
		"required": ["item", "action", "price", "say"],
		"additionalProperties": false,
	}
