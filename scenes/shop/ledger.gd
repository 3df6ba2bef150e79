class_name Ledger
extends RefCounted
## What is where in the shop, and the rules that no answer of the shopkeeper gets around.

## Something changed hands.
signal changed

## What each thing is worth, in gold.
const WORTH: Dictionary[String, int] = {
	"sword": 30,
	"shield": 24,
	"potion": 8,
	"rope": 5,
	"lantern": 12,
	"bread": 2,
	"ring": 15,
	"fish": 3,
}
## A price lies between these shares of the worth.
const LOWEST_SHARE: float = 0.75
const HIGHEST_SHARE: float = 1.25

## The player's.
var gold: int = 45
## How many of each thing the shop has, and the player.
var shelf: Dictionary[String, int] = {
	"sword": 1, "shield": 1, "lantern": 2, "potion": 3, "rope": 2, "bread": 5
}
var bag: Dictionary[String, int] = {"ring": 1, "fish": 2}


## Does what [param answer] says, as far as the rules have it. Gives one sentence on what happened;
## empty where nothing did.
func carry_out(answer: KeeperAnswer) -> String:
	match answer.action:
		"sell":
			return _sell(answer.item, fair_price(answer.item, answer.price))
		"buy":
			return _buy(answer.item, fair_price(answer.item, answer.price))
		"show":
			return "" if answer.item in shelf else _missing(answer.item)
		"refuse":
			return "Marta will not do that."
	return ""


## What the shopkeeper can do about [param item].
func possible_actions(item: String) -> PackedStringArray:
	var actions: PackedStringArray = ["refuse"]
	if item in shelf:
		actions.append_array(["show", "sell"])
	if item in bag:
		actions.append("buy")
	return actions


## [param price], or the price nearest to it that is fair for [param item].
static func fair_price(item: String, price: int) -> int:
	var worth: int = WORTH.get(item, 0)
	return clampi(price, ceili(worth * LOWEST_SHARE), floori(worth * HIGHEST_SHARE))


## Everything and what it is worth, in one line.
static func price_list() -> String:
	var prices: PackedStringArray = []
	for item: String in WORTH:
		prices.append("%s %d" % [item, WORTH[item]])
	return ", ".join(prices)


## What the shopkeeper has to know of this moment, in one line.
func describe() -> String:
	return (
		"The customer has %d gold, %s; on the shelf there is %s."
		% [gold, _listed(bag), _listed(shelf)]
	)


func _sell(item: String, price: int) -> String:
	if not item in shelf:
		return _missing(item)
	if price > gold:
		return "The %s costs %d gold, and you have %d." % [item, price, gold]
	gold -= price
	_move(item, shelf, bag)
	return "You bought the %s for %d gold." % [item, price]


func _buy(item: String, price: int) -> String:
	if not item in bag:
		return "" if item == KeeperAnswer.NOTHING else "You have no %s to sell." % item
	gold += price
	_move(item, bag, shelf)
	return "You sold the %s for %d gold." % [item, price]


func _missing(item: String) -> String:
	return "" if item == KeeperAnswer.NOTHING else "There is no %s on the shelf." % item


func _move(item: String, from: Dictionary[String, int], to: Dictionary[String, int]) -> void:
	from[item] -= 1
	if from[item] == 0:
		from.erase(item)
	to[item] = to.get(item, 0) + 1
	changed.emit()


static func _listed(things: Dictionary[String, int]) -> String:
	return "nothing else" if things.is_empty() else ", ".join(PackedStringArray(things.keys()))
