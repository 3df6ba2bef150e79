extends "res://tests/godot/case.gd"
## The guided tour: each step shows what it speaks of, with the model's own figures.

const ErrorBanner = preload("res://addons/llm/chat/error_banner.gd")
const PromptBox = preload("res://addons/llm/chat/prompt_box.gd")

const SCENE: PackedScene = preload("res://scenes/tour/tour.tscn")

var _tour: Tour


func test_from_the_first_step_to_the_last() -> void:
	await _open()
	check_equal(_text("%Place"), "1 of 8", "where it begins")
	var titles: PackedStringArray = []
	for number: int in _tour.steps.size():
		titles.append(_text("%Title"))
		check(not _text("%Text").contains("{"), "all is filled in: " + _text("%Text"))
		for part: String in ["%Looks", "%TextScroll", "%Choice", "%LayersPart", "%PagesPart"]:
			var node: Control = _tour.panel.get_node(part)
			check_equal(node.visible, _is_shown(part, number), "%s in step %d" % [part, number])
		(_tour.get_node("%Next") as Button).pressed.emit()
		await until(func() -> bool: return not _tour.llm.is_answering(), "the answer")
	check_equal(titles.size(), 8, "steps")
	check_equal(titles[0], "Words become tokens", "the first")
	check_equal(titles[-1], "Your turn", "the last")
	check(not (_tour.get_node("%Next") as Button).visible, "there is none after it")


func test_it_tells_of_this_model() -> void:
	await _open()
	check(_text("%Text").contains("this one into 24, of the 262,144"), _text("%Text"))
	_tour.go_to(1)
	check(_text("%Text").contains("has 18 layers, and each has 4 heads"), _text("%Text"))
	check(_tour.panel.layer >= 0 and _tour.panel.head >= 0, "a head was found")
	_tour.go_to(3)
	check(_text("%Text").contains("is “boat”, with 44%"), _text("%Text"))
	check_equal(_tour.panel.candidates.stages_shown, 1, "columns")
	_tour.go_to(6)
	check(_text("%Text").contains("18 KB a token, in pages of 64"), _text("%Text"))


func test_the_model_goes_on_and_one_may_write() -> void:
	await _open()
	_tour.go_to(5)
	await until(func() -> bool: return not _tour.llm.is_answering(), "the rest")
	check(_tour.panel.record.texts.size() > 30, "the text has grown")
	_tour.go_to(7)
	var prompt: PromptBox = _tour.get_node("%PromptBox")
	check(prompt.visible, "there is a box to write in")
	prompt.submitted.emit("The quick brown fox jumps over")
	check(prompt.busy, "it writes")
	await until(func() -> bool: return not prompt.busy, "the end")
	check_equal(_tour.panel.record.texts[1], "The", "what is shown")
	await until(func() -> bool: return _tour._facts["read"] == "7", "what is said of it")
	_tour.go_to(0)
	check(_text("%Text").contains("this one into 7"), _text("%Text"))


func test_back_and_forth_while_it_writes() -> void:
	await _open()
	for number: int in [5, 4, 5, 6, 5] as Array[int]:
		_tour.go_to(number)
	await until(func() -> bool: return not _tour.llm.is_answering(), "the rest")
	await frames(2)
	var written: int = _tour.panel.record.texts.size()
	_tour.go_to(4)
	_tour.go_to(5)
	check(not _tour.llm.is_answering(), "it is not written again")
	check_equal(_tour.panel.record.texts.size(), written, "what is written")


func test_keys() -> void:
	await _open()
	_press(KEY_PAGEDOWN)
	check_equal(_tour.step_number, 1, "the step")
	_press(KEY_PAGEUP)
	_press(KEY_PAGEUP)
	check_equal(_tour.step_number, 0, "the first stays")


func test_without_a_model() -> void:
	expect_error("does not exist")
	_make("user://no-such-model.gguf")
	var banner: Control = _tour.get_node("%ErrorBanner")
	await until(func() -> bool: return banner.visible, "the banner")
	_tour.go_to(0)
	check_equal(_tour.step_number, -1, "the step")


func test_in_windows_of_any_size() -> void:
	await _open()
	for number: int in _tour.steps.size():
		_tour.go_to(number)
		await until(func() -> bool: return not _tour.llm.is_answering(), "the answer")
		await check_fits(_tour, _tour.get_node("Rows"))
		await picture("tour_%d" % (number + 1))


func test_in_a_narrow_window_all_scrolls_together() -> void:
	await _open()
	_tour.go_to(1)
	var before: Vector2i = get_window().size
	get_window().size = Vector2i(480, 640)
	await frames(3)
	check(not _tour.panel.get_v_scroll_bar().visible, "the panel is whole")
	check(_tour.panel.heads.size.y > 0.0, "each head is shown")
	await picture("tour_small")
	get_window().size = before


func _open() -> void:
	_make(MODEL)
	await until(func() -> bool: return _tour.step_number == 0, "the first step")


func _make(path: String) -> void:
	_tour = SCENE.instantiate()
	_tour.model_path = path
	add_child(_tour)


func _is_shown(part: String, number: int) -> bool:
	var names: Dictionary[String, StringName] = {
		"%Looks": XRayPanel.LOOKS,
		"%TextScroll": XRayPanel.TEXT,
		"%Choice": XRayPanel.CHOICE,
		"%LayersPart": XRayPanel.LAYERS,
		"%PagesPart": XRayPanel.PAGES,
	}
	return names[part] in _tour.steps[number].parts


func _text(name: String) -> String:
	return (_tour.get_node(name) as Label).text


func _press(key: Key) -> void:
	var event: InputEventKey = InputEventKey.new()
	event.keycode = key
	event.physical_keycode = key
	event.pressed = true
	get_viewport().push_input(event)
