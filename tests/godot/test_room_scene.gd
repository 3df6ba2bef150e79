extends "res://tests/godot/case.gd"
## The room of four: they talk at once, hear one another, and fall silent by themselves.

const PromptBox = preload("res://addons/llm/chat/prompt_box.gd")

const SCENE: PackedScene = preload("res://scenes/room/room.tscn")
const NAMES: PackedStringArray = ["Bera", "Odo", "Lin", "Tam"]
const LONG: String = "On and on it goes, and on, and on, and it never comes to an end, "
const LENGTH: int = 600  # characters
## Milliseconds of each frame: the echo speaks over several.
const SLOW: float = 0.5

var _room: Room
var _ends: Dictionary[String, PackedStringArray] = {}  # reasons, by name


func test_all_answer_in_rounds_and_fall_silent() -> void:
	await _open("echo:So be it.")
	_room.say("Good evening!")
	check_equal(_room.talk.round_number, 1, "the round at first")
	for name: String in NAMES:
		check(_llm(name).is_answering(), name + " answers")
	await _quiet()
	for name: String in NAMES:
		check_equal(_speech(name), "So be it.", "what %s says" % name)
		var reasons: PackedStringArray = ["stop", "stop", "stop"]
		check_equal(_ends[name], reasons, "once a round, %s ends" % name)
	var heard: Array = _llm("Lin").get_chat_history()
	check_equal(heard[2]["content"], "Traveller: Good evening!", "what Lin hears first")
	check_equal(heard[4]["content"], "Bera: So be it.\nOdo: So be it.\nTam: So be it.", "then")
	await frames(10)
	check_equal(_ends["Bera"].size(), Talk.ROUNDS, "it stays quiet")


func test_one_is_addressed_and_all_hear() -> void:
	await _open("echo:Aye.")
	_npc("Odo").address_button().button_pressed = true
	_room.say("What do you forge?")
	for name: String in NAMES:
		check_equal(_llm(name).is_answering(), name == "Odo", name + " answers")
	await _quiet()
	var heard: Array = _llm("Tam").get_chat_history()
	check_equal(heard[2]["content"], "Traveller: What do you forge?\nOdo: Aye.", "what Tam hears")


func test_interrupted_and_stopped() -> void:
	await _open_endless()
	_room.say("One.")
	await until(func() -> bool: return _speech("Tam").begins_with("On"), "the first words")
	check(_speech("Tam").length() < LENGTH, "word by word: " + _speech("Tam"))
	_room.say("Two!")
	check_equal(_room.talk.round_number, 1, "the round, begun anew")
	await until(func() -> bool: return _speech("Tam").begins_with("On"), "words again")
	_press(KEY_ESCAPE)
	check_equal(_room.talk.round_number, 0, "the round after Escape")
	await frames(5)
	for name: String in NAMES:
		check(not _llm(name).is_answering(), name + " stopped")
		check_equal(_ends[name], PackedStringArray(["cancelled", "cancelled"]), name + "'s ends")
	check(not _prompt().busy, "one may go on")


func test_the_button_starts_and_stops() -> void:
	await _open_endless()
	var button: Button = _room.get_node("%TalkButton")
	check_equal(button.text, "Let them talk", "the button")
	button.pressed.emit()
	check_equal(_room.talk.round_number, 1, "the round")
	check_equal(button.text, "Stop", "the button while they talk")
	button.pressed.emit()
	check_equal(_room.talk.round_number, 0, "the round after that")
	await frames(5)
	for name: String in NAMES:
		check_equal(_ends[name], PackedStringArray(["cancelled"]), name + "'s ends")


func test_leaving_in_the_middle() -> void:
	var max_fps: int = Engine.max_fps
	await _open_endless()
	check_equal(Engine.max_fps, 60, "frames a second")
	_room.say("Hello!")
	await until(func() -> bool: return _speech("Tam").begins_with("On"), "the first words")
	_room.queue_free()
	await frames(5)
	for name: String in NAMES:
		check_equal(_ends[name], PackedStringArray(["cancelled"]), name + "'s ends")
	check_equal(Engine.max_fps, max_fps, "frames a second after that")


func test_the_slider() -> void:
	await _open("echo:Aye.")
	var slider: HSlider = _room.get_node("%Budget")
	for milliseconds: float in [5.0, 0.0] as Array[float]:
		slider.value = milliseconds
		for name: String in NAMES:
			check_equal(_llm(name).gpu_ms_per_frame, milliseconds, name + "'s share")
	var label: String = (_room.get_node("%BudgetLabel") as Label).text
	check(label.ends_with("all"), "without a limit: " + label)


func test_frames_are_counted() -> void:
	await _open("echo:Aye.")
	var meter: Label = _room.get_node("%FrameMeter")
	await until(func() -> bool: return not meter.text.is_empty(), "the first figures", 10.0)
	check(meter.text.contains("fps"), "it says '%s'" % meter.text)


func test_a_line_is_one_sentence() -> void:
	await _open("echo:Aye, it is so. And more of it!")
	_room.say("Is it so?")
	await _quiet()
	check_equal(_speech("Odo"), "Aye, it is so.", "what Odo says")


func test_without_a_model() -> void:
	expect_error("does not exist")
	await _open("user://no-such-model.gguf")
	var banner: Control = _room.get_node("%ErrorBanner")
	await until(func() -> bool: return banner.visible, "the banner")
	_room.say("Hello!")
	check(not banner.visible, "who speaks tries again")
	await until(func() -> bool: return banner.visible, "the banner")
	check_equal(_room.talk.round_number, 0, "the round")
	await frames(5)


func test_everything_fits_the_window() -> void:
	await _open("echo:Aye.")
	await check_fits(_room, _prompt())


func test_the_default_model_says_something() -> void:
	await _open(MODEL)
	for name: String in NAMES:
		_llm(name).max_tokens = 8
	_room.say("What happened here last night?")
	await _quiet()
	for name: String in NAMES:
		check_equal(_ends[name].size(), Talk.ROUNDS, name + "'s ends")
		check(not _speech(name).is_empty(), name + " says something")
	check(_llm("Tam").get_stats()["cached_tokens"] > 0, "what was heard is not computed again")


func _open(model: String) -> void:
	_room = SCENE.instantiate()
	_room.model_path = model
	for name: String in NAMES:
		_ends[name] = PackedStringArray()
		_llm(name).response_ended.connect(
			func(_id: int, reason: String) -> void: _ends[name].append(reason)
		)
	add_child(_room)
	await until(func() -> bool: return not _llm("Bera").is_loading(), "the model")
	await frames(2)


## Everybody talks for long.
func _open_endless() -> void:
	await _open("echo:" + LONG.repeat(LENGTH / LONG.length() + 1).left(LENGTH))
	for name: String in NAMES:
		_llm(name).max_tokens = 0
		_llm(name).regex = ""
		_llm(name).gpu_ms_per_frame = SLOW


func _quiet() -> void:
	await until(func() -> bool: return _room.talk.round_number == 0, "quiet")
	await frames(2)


func _npc(name: String) -> Npc:
	return _room.get_node("%People").get_node(name)


func _llm(name: String) -> LLM:
	return _npc(name).get_node("%LLM")


func _speech(name: String) -> String:
	return (_npc(name).get_node("%Speech") as Label).text


func _prompt() -> PromptBox:
	return _room.get_node("%PromptBox")


func _press(key: Key) -> void:
	for is_down: bool in [true, false] as Array[bool]:
		var event: InputEventKey = InputEventKey.new()
		event.keycode = key
		event.physical_keycode = key
		event.pressed = is_down
		get_viewport().push_input(event)
