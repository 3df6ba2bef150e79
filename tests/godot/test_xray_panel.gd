extends "res://tests/godot/llm_case.gd"
## The X-ray panel shows what its node tells, asks for what is to be seen, and only while it is.

const SCENE: PackedScene = preload("res://addons/llm/xray/xray_panel.tscn")
const TOKENS: int = 6
const MIDDLE_LAYER: int = 9

var _panel: XRayPanel
var _llm: LLM


func test_an_answer_appears_token_by_token() -> void:
	_open()
	await _answer()
	var record: XRayRecord = _panel.record
	check_equal("".join(record.texts.slice(0, record.answer_from)), "<bos>" + FOX, "what was read")
	check_equal(record.texts[record.answer_from], " the", "the first word")
	var last: int = record.texts.size() - 1
	check_equal(last - record.answer_from, TOKENS - 1, "tokens that were written")
	check_equal(_panel.tokens.selection, last, "the latest is selected")
	check_equal(_panel.candidates.stage_count(), 2, "the model and the greedy choice")
	check(_panel.pages.summary().begins_with("%d tokens in 1 page" % last), _panel.pages.summary())
	check_equal(_panel.parts.size(), 20, "the layers were measured")
	check_equal(_panel.layer, MIDDLE_LAYER, "the layer at first")


func test_a_token_of_the_prompt_was_not_chosen() -> void:
	_open()
	await _answer()
	_panel.select(2)
	check_equal(_panel.candidates.stage_count(), 0, "stages")
	check_equal(_title(), "“ quick” was read, not chosen", "the title")
	_panel.select(_panel.record.answer_from)
	check_equal(_title(), "How “ the” was chosen", "the title of one that was")


func test_attention_is_asked_for_where_it_is_looked_at() -> void:
	_open()
	await _answer()
	var asked: Array[Vector2i] = []
	_llm.xrayed.connect(
		func(kind: String, told: Dictionary) -> void:
			if kind == "attention":
				asked.append(Vector2i(told["position"], told["layer"]))
	)
	var first: int = _panel.record.answer_from
	_panel.select(first)
	await frames(5)
	check_equal(asked, [] as Array[Vector2i], "what is asked while it is not looked at")
	_panel.look = XRayPanel.Look.ATTENTION
	await until(func() -> bool: return asked.size() == 1, "the attention")
	_panel.layer = 17
	_panel.head = 2
	await until(func() -> bool: return asked.size() == 2, "that of another layer")
	_panel.head = 1  # is known already
	_panel.select(3)
	await until(func() -> bool: return asked.size() == 3, "that of another token")
	await frames(5)
	var wanted: Array[Vector2i] = [
		Vector2i(first - 1, MIDDLE_LAYER), Vector2i(first - 1, 17), Vector2i(3, 17)
	]
	check_equal(asked, wanted, "positions and layers")
	check(_caption().ends_with("went to <bos>."), "it is told: " + _caption())


func test_quick_changes_end_with_the_last() -> void:
	_open()
	await _answer()
	_panel.look = XRayPanel.Look.ATTENTION
	for position: int in range(1, 7):
		_panel.select(position)
	await until(func() -> bool: return _panel._heads_at == Vector2i(6, MIDDLE_LAYER), "the last")


func test_while_it_is_hidden_nothing_is_told() -> void:
	_open()
	check(_llm.xray, "on while it is seen")
	_panel.hide()
	check(not _llm.xray, "off while it is hidden")
	await _answer()
	check_equal(_panel.record.texts.size(), 0, "what is told")
	_panel.show()
	check(_llm.xray, "on again")
	remove_child(_panel)
	check(not _llm.xray, "off outside the tree")
	_panel.free()


func test_another_node() -> void:
	_open()
	var before: LLM = _llm
	_llm = make_llm({"max_tokens": 2})
	_panel.llm = _llm
	check(not before.xray, "the one before is left alone")
	await _answer()
	check_equal(_panel.record.texts.size() - _panel.record.answer_from, 2, "tokens of the other")
	before.free()
	_panel.llm = null
	check(not _llm.xray, "the last one, too")


func test_the_arrow_keys_walk() -> void:
	_open()
	await _answer()
	_panel.select(4)
	_panel.tokens.grab_focus()
	for key: Key in [KEY_RIGHT, KEY_RIGHT, KEY_LEFT] as Array[Key]:
		_press(key)
	check_equal(_panel.tokens.selection, 5, "the token")
	_press(KEY_HOME)
	check_equal(_title(), "“<bos>” was read, not chosen", "the first")


func test_a_model_without_layers() -> void:
	_open({"model_path": "echo:Aye."})
	_panel.look = XRayPanel.Look.ATTENTION
	await _answer()
	await frames(5)
	check_equal(_panel.record.texts[-1], "<end>", "the last token")
	check_equal(_panel.layer, -1, "a layer")


func _open(settings: Dictionary = {}) -> void:
	_llm = make_llm({"max_tokens": TOKENS}.merged(settings, true))
	_panel = SCENE.instantiate()
	_panel.llm = _llm
	add_child(_panel)


func _answer() -> void:
	_llm.complete(FOX)
	await until(func() -> bool: return not _llm.is_answering(), "the answer")
	await frames(3)


func _title() -> String:
	return (_panel.get_node("%ChoiceTitle") as Label).text


func _caption() -> String:
	return (_panel.get_node("%Caption") as Label).text


func _press(key: Key) -> void:
	var event: InputEventKey = InputEventKey.new()
	event.keycode = key
	event.physical_keycode = key
	event.pressed = true
	get_viewport().push_input(event)
