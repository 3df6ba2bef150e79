extends "res://tests/godot/llm_case.gd"
## The X-ray panel shows what its node tells, asks for what is to be seen, and only while it is.

const SCENE: PackedScene = preload("res://addons/llm/xray/xray_panel.tscn")
const TOKENS: int = 6
const MIDDLE_LAYER: int = 9
const MANY: int = 2000

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
	check_equal(_title(), "“quick” was read, not chosen", "the title")
	_panel.select(_panel.record.answer_from)
	check_equal(_title(), "How “the” was chosen", "the title of one that was")


func test_attention_is_asked_for_where_it_is_looked_at() -> void:
	_open()
	await _answer()
	var asked: Array[Vector2i] = _asked()
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
	check(_caption().ends_with("went to “<bos>”."), "it is told: " + _caption())
	var title: Label = _panel.get_node("%HeadsTitle")
	check_equal(title.text, "Heads of layer 17, from “brown”", "whose heads are shown")
	check((_panel.get_node("%HeadsPart") as Control).visible, "each head is shown")
	check(not (_panel.get_node("%Choice") as Control).visible, "in the place of the choice")


func test_quick_changes_end_with_the_last() -> void:
	_open()
	await _answer()
	var asked: Array[Vector2i] = _asked()
	_panel.look = XRayPanel.Look.ATTENTION
	for position: int in range(1, 7):
		_panel.select(position)
	await until(func() -> bool: return Vector2i(6, MIDDLE_LAYER) in asked, "the last")
	check(asked.size() < 6, "not all were asked for: %d" % asked.size())


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


func test_another_begins_where_the_first_was_freed() -> void:
	_open()
	_panel.look = XRayPanel.Look.ATTENTION
	await _answer()
	_panel.select(2)  # asks for what nobody will answer
	_llm.free()
	_panel.select(3)
	_panel.measure()
	_panel.hide()
	_panel.show()
	check_equal(_title(), "“brown” was read, not chosen", "what stays")
	_llm = make_llm({"max_tokens": 2})
	_panel.llm = _llm
	await _answer()
	await until(func() -> bool: return _caption().ends_with("“<bos>”."), "its attention")


func test_layers_without_attention() -> void:
	_open({"model_path": "echo:"})
	_panel.look = XRayPanel.Look.ATTENTION
	var parts: Array[Dictionary] = []
	for layer: int in 6:
		parts.append(_part(layer, 8 if layer % 3 == 2 else 0))
	_llm.xrayed.emit("layers", {"position": 0, "parts": parts, "error": ""})
	check_equal(_panel.layer, 5, "the middle one of those that have heads")
	var choice: OptionButton = _panel.get_node("%LayerChoice")
	check_equal([choice.item_count, choice.get_item_id(0)], [2, 2], "those that may be chosen")
	_panel.layers.layer_selected.emit(2)
	check_equal((_panel.get_node("%HeadChoice") as OptionButton).item_count, 9, "all, and each")
	parts = [_part(0, 0)]
	_llm.xrayed.emit("layers", {"position": 0, "parts": parts, "error": ""})
	check_equal(_panel.layer, -1, "the layer where none has any")
	check(not choice.visible, "there is nothing to choose")


func test_what_could_not_be_told_says_why() -> void:
	_open({"model_path": "echo:"})
	_panel.look = XRayPanel.Look.ATTENTION
	_llm.xrayed.emit("layers", {"position": 0, "parts": [_part(0, 2)], "error": ""})
	var told: Dictionary = {"position": 3, "layer": 0, "heads": [], "error": "It is gone."}
	_llm.xrayed.emit("prompt", _prompt(4))
	_llm.xrayed.emit("attention", told)
	check_equal(_caption(), "It is gone.", "the caption")


func test_signs_without_a_shape_are_seen() -> void:
	var shown: Dictionary[String, String] = {
		" a": " a", "  ": "␣␣", "a\n": "a⏎", "\t": "⇥", "\u0007x": "\\x07x", "": ""
	}
	for text: String in shown:
		check_equal(XRayRecord.shown(text), shown[text], "what is shown")


func test_tokens_without_those_before_are_left_out() -> void:
	_open({"model_path": "echo:"})
	_llm.xrayed.emit("token", _token(7))
	_panel.select(7)
	check_equal(_panel.record.texts.size(), 0, "tokens")
	check_equal(_panel.tokens.selection, -1, "what is selected")


func test_a_long_answer_is_not_slower_at_its_end() -> void:
	_open({"model_path": "echo:"})
	_llm.xrayed.emit("prompt", _prompt(8))
	var times: PackedInt64Array = []
	for number: int in MANY:
		var began: int = Time.get_ticks_usec()
		_llm.xrayed.emit("token", _token(8 + number))
		times.append(Time.get_ticks_usec() - began)
	var early: int = _median(times.slice(0, 200))
	var late: int = _median(times.slice(MANY - 200))
	check(late < 3 * early + 100, "a token takes %d µs at first, %d at last" % [early, late])
	var drawn: Array[int] = []
	_panel.tokens.color_of = func(index: int) -> Color:
		drawn.append(index)
		return Color.TRANSPARENT
	await _redraw(drawn)
	check(drawn.size() < MANY / 4, "%d tokens are drawn" % drawn.size())
	check(MANY + 7 in drawn, "the latest is among them")
	_panel.select(0)
	await _redraw(drawn)
	check(0 in drawn and not MANY in drawn, "the first is, after it was selected")


func test_how_it_looks() -> void:
	var ground: Panel = Panel.new()
	ground.set_anchors_and_offsets_preset(Control.PRESET_FULL_RECT)
	add_child(ground)
	_llm = make_llm({"max_tokens": 24, "temperature": 0.7, "seed": 3})
	_panel = SCENE.instantiate()
	_panel.llm = _llm
	_panel.set_anchors_and_offsets_preset(Control.PRESET_FULL_RECT, Control.PRESET_MODE_MINSIZE, 12)
	ground.add_child(_panel)
	await _answer()
	_panel.look = XRayPanel.Look.SURENESS
	_panel.select(_panel.record.answer_from)
	var before: Vector2i = get_window().size
	get_window().size = Vector2i(960, 600)
	var dark: Image = await picture("xray_dark")
	ground.theme = _light_theme()
	var light: Image = await picture("xray_light")
	_panel.look = XRayPanel.Look.ATTENTION
	get_window().size = Vector2i(360, 480)
	await until(func() -> bool: return _caption().ends_with("“<bos>”."), "the attention")
	await picture("xray_small")
	check(ground.get_global_rect().encloses(_panel.get_global_rect()), "it fits a small window")
	check(_panel.get_v_scroll_bar().visible, "and scrolls there")
	get_window().size = before
	if dark != null:
		check(brightness(dark) < 0.3, "a dark theme: %.2f" % brightness(dark))
		check(brightness(light) > 0.7, "a light theme: %.2f" % brightness(light))


func _open(settings: Dictionary = {}) -> void:
	_llm = make_llm({"max_tokens": TOKENS}.merged(settings, true))
	_panel = SCENE.instantiate()
	_panel.llm = _llm
	add_child(_panel)


func _answer() -> void:
	_llm.complete(FOX)
	await until(func() -> bool: return not _llm.is_answering(), "the answer")
	await frames(3)


## Positions and layers whose attention is told from now on.
func _asked() -> Array[Vector2i]:
	var asked: Array[Vector2i] = []
	_llm.xrayed.connect(
		func(kind: String, told: Dictionary) -> void:
			if kind == "attention":
				asked.append(Vector2i(told["position"], told["layer"]))
	)
	return asked


## As the node tells of them: see [signal LLM.xrayed].
func _part(layer: int, heads: int) -> Dictionary:
	return {
		"name": "layer %d" % layer,
		"layer": layer,
		"seconds": 0.001,
		"weight_bytes": 1 << 20,
		"cell_bytes": 512 if heads > 0 else 0,
		"state_bytes": 0 if heads > 0 else 4096,
		"heads": heads,
		"window": 0,
	}


func _prompt(count: int) -> Dictionary:
	var tokens: PackedInt32Array = range(count)
	var texts: PackedStringArray = []
	for number: int in count:
		texts.append(" word%d" % number)
	return {"id": 1, "tokens": tokens, "texts": texts}


func _token(position: int) -> Dictionary:
	var text: String = ".\n" if position % 50 == 0 else " word%d" % position
	return {
		"id": 1,
		"token": position,
		"text": text,
		"position": position,
		"stages": [{"name": "model", "left": 9, "entropy": 1.5}],
		"candidates": [{"token": position, "text": text, "probabilities": [0.5]}],
		"pages":
		{
			"cells": position,
			"page_cells": 64,
			"own": PackedInt32Array([0]),
			"users": PackedByteArray([1])
		},
	}


func _redraw(drawn: Array[int]) -> void:
	await frames(3)
	drawn.clear()
	_panel.tokens.queue_redraw()
	await frames(2)


func _median(times: PackedInt64Array) -> int:
	times.sort()
	@warning_ignore("integer_division")
	return times[times.size() / 2]


func _light_theme() -> Theme:
	var theme: Theme = Theme.new()
	for type: String in ["Label", "Button", "OptionButton"]:
		for state: String in ["font_color", "font_hover_color", "font_pressed_color"]:
			theme.set_color(state, type, Color.BLACK)
	var paper: StyleBoxFlat = StyleBoxFlat.new()
	paper.bg_color = Color.WHITE
	theme.set_stylebox("panel", "Panel", paper)
	theme.set_stylebox("normal", "OptionButton", paper)
	var pressed: StyleBoxFlat = StyleBoxFlat.new()
	pressed.bg_color = Color.LIGHT_BLUE
	theme.set_stylebox("pressed", "Button", pressed)
	return theme


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
