class_name KeeperAnswer
extends RefCounted
## What the shopkeeper decided, and what she says to it.

## What she may do. To sell and to buy are meant as she sees them.
const ACTIONS: PackedStringArray = ["none", "show", "sell", "buy", "refuse"]
## In the place of an item where the answer is about none.
const NOTHING: String = "nothing"
const HIGHEST_PRICE: int = 99

var action: String = "none"
var item: String = NOTHING
## In gold.
var price: int = 0
var say: String = ""


## The form of an answer about [param goods]. The decision comes first, so that the words follow it.
static func schema(goods: PackedStringArray) -> Dictionary:
	return {
		"type": "object",
		"properties":
		{
			"action": {"enum": Array(ACTIONS)},
			"item": {"enum": [NOTHING] + Array(goods)},
			"price": {"type": "integer", "minimum": 0, "maximum": HIGHEST_PRICE},
			"say": {"type": "string", "minLength": 4, "maxLength": 140},
		},
		"required": ["action", "item", "price", "say"],
		"additionalProperties": false,
	}


## The answer that [param json] is, which keeps to [method schema].
static func parse(json: String) -> KeeperAnswer:
	var values: Dictionary = LLM.parse_json(json)
	var answer: KeeperAnswer = KeeperAnswer.new()
	answer.action = values["action"]
	answer.item = values["item"]
	answer.price = values["price"]
	answer.say = values["say"]
	return answer
