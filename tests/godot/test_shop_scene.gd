extends "res://tests/godot/case.gd"
## The shop: what its keeper's JSON makes happen, and what no JSON can.

const PromptBox = preload("res://addons/llm/chat/prompt_box.gd")

const SCENE: PackedScene = preload("res://scenes/shop/shop.tscn")
## Milliseconds of each frame: the echo speaks over several.
const SLOW: float = 0.5

var _shop: Shop
var _llm: LLM


func test_partial_json() -> void:
	var words: String = '"Wait \\"here\\": \\u00e9\\ud83d\\ude00\\n!"'
	var whole: String = '{"item": "say", "say": %s, "n": 1}' % words
	var before: String = ""
	for length: int in whole.length() + 1:
		var text: String = PartialJson.text_of(whole.left(length), "say")
		check(text.begins_with(before), "'%s' goes on from '%s'" % [text, before])
		check(not text.contains("\\"), "no half of an escape: '%s'" % text)
		before = text
	check_equal(before, 'Wait "here": é😀\n!', "the whole text")
	check_equal(PartialJson.text_of(whole, "item"), "say", "another field")
	check_equal(PartialJson.text_of('{"a": "\\"say\\": \\"x\\""}', "say"), "", "inside a string")


func test_buying() -> void:
	await _open(_answer("sell", "sword", 30, "It is yours."))
	await _say("I will take the sword.")
	check_equal(_speech(), "It is yours.", "what she says")
	check_equal(_shop.ledger.gold, 15, "gold")
	check_equal(_gold(), "15 gold", "the gold that is shown")
	check(not "sword" in _shop.ledger.shelf and "sword" in _shop.ledger.bag, "it changed hands")
	check(_shop.get_node("%Bag").has_node("sword"), "it is seen in the bag")
	check(not _shop.get_node("%Shelf").has_node("sword"), "it is not on the shelf")


func test_without_enough_gold() -> void:
	await _open(_answer("sell", "sword", 30, "Here."))
	_shop.ledger.gold = 29
	await _say("I will take the sword.")
	check_equal(_outcome(), "The sword costs 30 gold, and you have 29.", "what happens")
	check_equal(_shop.ledger.gold, 29, "gold")
	check("sword" in _shop.ledger.shelf, "it stays")


func test_selling() -> void:
	await _open(_answer("buy", "fish", 3, "Fresh!"))
	for left: int in [1, 0] as Array[int]:
		await _say("Would you buy my fish?")
		check_equal(_outcome(), "You sold the fish for 3 gold.", "what happens")
		check_equal(_shop.ledger.bag.get("fish", 0), left, "fish in the bag")
	check_equal(_shop.ledger.shelf["fish"], 2, "fish on the shelf")
	check_equal(_shop.ledger.gold, 51, "gold")


func test_what_is_not_there_is_not_sold() -> void:
	var ledger: Ledger = Ledger.new()
	var cases: Dictionary[String, PackedStringArray] = {
		"There is no ring on the shelf.": ["sell", "ring"],
		"There is no dragon on the shelf.": ["show", "dragon"],
		"You have no rope to sell.": ["buy", "rope"],
		"": ["sell", "nothing"],
	}
	for outcome: String in cases:
		check_equal(_carried_out(ledger, cases[outcome][0], cases[outcome][1], 9), outcome, "of it")
	check_equal(_carried_out(ledger, "sell", "sword", 30), "You bought the sword for 30 gold.", "1")
	check_equal(_carried_out(ledger, "sell", "sword", 30), "There is no sword on the shelf.", "2")
	check_equal(ledger.gold, 15, "gold")


func test_prices_are_fair() -> void:
	for case: Array in [[1, 23], [99, 37], [30, 30]] as Array[Array]:
		check_equal(Ledger.fair_price("sword", case[0]), case[1], "for %d" % case[0])
	var outcome: String = _carried_out(Ledger.new(), "sell", "potion", 0)
	check_equal(outcome, "You bought the potion for 6 gold.", "of a gift")


func test_an_answer_that_is_not_possible_is_never_given() -> void:
	await _open(_answer("sell", "dragon", 1, "Take it!"))
	var decided: Array[KeeperAnswer] = []
	(_shop.get_node("%Shopkeeper") as Shopkeeper).decided.connect(decided.append)
	for item: String in ["dragon", "ring", "potion"]:
		_llm.model_path = _answer("sell", item, 1, "Take it!")
		var possible: Dictionary = {"nothing": PackedStringArray(["none"])}
		for thing: String in Ledger.WORTH:
			possible[thing] = _shop.ledger.possible_actions(thing)
		await _say("The %s for one gold!" % item)
		for answer: KeeperAnswer in decided:
			check(answer.action in possible[answer.item], answer.action + " " + answer.item)
			check_equal(Ledger.fair_price(answer.item, answer.price), answer.price, "its price")
		decided.clear()


func test_what_changes_nothing() -> void:
	await _open(_answer("refuse", "shield", 24, "Never!"))
	var shelf: Dictionary = _shop.ledger.shelf.duplicate()
	await _say("The shield for one gold!")
	check_equal(_outcome(), "Marta will not do that.", "what happens")
	for answer: PackedStringArray in [["none", "nothing"], ["show", "rope"]]:
		var price: int = Ledger.WORTH.get(answer[1], 0)
		_llm.model_path = _answer(answer[0], answer[1], price, "Hm, hm.")
		await _say("Hello!")
		check_equal(_speech(), "Hm, hm.", "what she says")
		check_equal(_outcome(), "You:  Hello!", "what happens then")
	check_equal(_shop.ledger.shelf, shelf, "the shelf")
	check_equal(_shop.ledger.gold, 45, "gold")


func test_she_knows_her_stock() -> void:
	await _open(_answer("sell", "rope", 5, "Here."))
	await _say("A rope, please.")
	check(_llm.system_prompt.contains("has 45 gold"), "the gold")
	_llm.model_path = _answer("none", "nothing", 0, "Yes.")
	await _say("And now?")
	check(_llm.system_prompt.contains("has 40 gold, ring, fish, rope;"), _llm.system_prompt)
	var last: Dictionary = _llm.get_chat_history()[-3]
	check_equal(last["content"], _answer("sell", "rope", 5, "Here.").trim_prefix("echo:"), "memory")


func test_stopped_and_interrupted() -> void:
	await _open(_answer("sell", "sword", 30, "Wait, I have to wrap it. ".repeat(5)))
	_llm.gpu_ms_per_frame = SLOW
	_shop.say("The sword!")
	var speaking: Callable = func() -> bool: return _speech().begins_with("Wait")
	await until(speaking, "the first words")
	check(_speech().length() < 125, "letter by letter: '%s'" % _speech())
	_press(KEY_ESCAPE)
	await _answered()
	check_equal(_shop.ledger.gold, 45, "gold after Escape")
	check(_speech().ends_with("…"), "she stopped: " + _speech())
	check(not _prompt().busy, "one may go on")

	var decided: Array[KeeperAnswer] = []
	(_shop.get_node("%Shopkeeper") as Shopkeeper).decided.connect(decided.append)
	_shop.say("The sword!")
	await until(speaking, "words again")
	_llm.gpu_ms_per_frame = 0.0
	_llm.model_path = _answer("sell", "bread", 2, "Here.")
	_shop.say("No, a bread.")
	await _answered()
	check_equal(decided.size(), 1, "decisions on two questions in a row")
	check_equal(_outcome(), "You bought the bread for 2 gold.", "the second counts")


func test_leaving_in_the_middle() -> void:
	await _open(_answer("sell", "sword", 30, "Wait, I have to wrap it. ".repeat(5)))
	_llm.gpu_ms_per_frame = SLOW
	var ledger: Ledger = _shop.ledger
	_shop.say("The sword!")
	await until(func() -> bool: return _speech().begins_with("Wait"), "the first words")
	check(_llm.is_answering(), "she is still speaking")
	_shop.queue_free()
	await frames(5)
	check_equal(ledger.gold, 45, "gold")


func test_keyboard_alone() -> void:
	await _open(_answer("none", "nothing", 0, "Hello."))
	_prompt().text = "Hi"
	_press(KEY_ENTER)
	check_equal(_outcome(), "You:  Hi", "Enter speaks")
	await _answered()
	var reached: PackedStringArray = []
	for _step: int in 20:
		_press(KEY_TAB)
		reached.append(get_viewport().gui_get_focus_owner().name)
	for wanted: String in ["sword", "bread", "ring", "Input"]:
		check(wanted in reached, "Tab goes to %s; it goes to %s" % [wanted, ", ".join(reached)])
	(_shop.get_node("%Bag/ring") as Control).grab_focus()
	_press(KEY_ENTER)
	check_equal(_outcome(), "You:  Would you buy my ring?", "a thing that is picked")
	await _answered()


func test_without_a_model() -> void:
	expect_error("does not exist")
	await _open("user://no-such-model.gguf")
	var banner: Control = _shop.get_node("%ErrorBanner")
	await until(func() -> bool: return banner.visible, "the banner")
	var problem: String = (banner.get_node("%Problem") as Label).text
	check(problem.contains("no-such-model.gguf"), "it says '%s'" % problem)


func test_everything_fits_the_window() -> void:
	await _open(_answer("none", "nothing", 0, "Hello."))
	await check_fits(_shop, _prompt())


func test_the_default_model_answers_something_legal() -> void:
	await _open(MODEL)
	var decided: Array[KeeperAnswer] = []
	(_shop.get_node("%Shopkeeper") as Shopkeeper).decided.connect(decided.append)
	await _say("How much is the sword?")
	check_equal(decided.size(), 1, "decisions")
	for answer: KeeperAnswer in decided:
		check_equal(answer.item, "sword", "what it is about")
		check_equal(_speech(), answer.say, "what she says")


func _open(model: String) -> void:
	_shop = SCENE.instantiate()
	_shop.model_path = model
	_llm = _shop.get_node("%LLM")
	add_child(_shop)
	await until(func() -> bool: return not _llm.is_loading(), "the model")
	await frames(2)


func _carried_out(ledger: Ledger, action: String, item: String, price: int) -> String:
	var answer: KeeperAnswer = KeeperAnswer.new()
	answer.action = action
	answer.item = item
	answer.price = price
	return ledger.carry_out(answer)


## The model that answers so, whatever it is asked.
func _answer(action: String, item: String, price: int, say: String) -> String:
	var form: String = 'echo:{"item": "%s", "action": "%s", "price": %d, "say": "%s"}'
	return form % [item, action, price, say]


func _say(text: String) -> void:
	_shop.say(text)
	await _answered()


func _answered() -> void:
	await until(func() -> bool: return not _llm.is_answering(), "the answer")
	await frames(2)


func _prompt() -> PromptBox:
	return _shop.get_node("%PromptBox")


func _speech() -> String:
	return (_shop.get_node("%Speech") as Label).text


func _outcome() -> String:
	return (_shop.get_node("%Outcome") as Label).text


func _gold() -> String:
	return (_shop.get_node("%Gold") as Label).text


func _press(key: Key) -> void:
	for is_down: bool in [true, false] as Array[bool]:
		var event: InputEventKey = InputEventKey.new()
		event.keycode = key
		event.physical_keycode = key
		event.pressed = is_down
		get_viewport().push_input(event)
