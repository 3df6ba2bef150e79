extends "res://tests/godot/chat_case.gd"
## The chat window on the real model, driven by keys as a person would.

const ErrorBanner = preload("res://addons/llm/chat/error_banner.gd")
const ModelPicker = preload("res://addons/llm/chat/model_picker.gd")
const ModelReport = preload("res://addons/llm/chat/model_report.gd")

const FOX: String = "The quick brown fox jumps over"


func test_a_text_is_continued() -> void:
	await _open(MODEL)
	_type(FOX)
	_press(KEY_ENTER, {"shift": true})
	check_equal(_prompt().text, FOX + "\n", "the prompt after Shift+Enter")
	_press(KEY_ENTER)
	check_equal(_prompt().text, "", "the prompt after Enter")
	check(_llm.is_answering() and _prompt().busy, "Enter asks")
	_type("more")
	_press(KEY_ENTER)
	check_equal(_prompt().text, "more", "while an answer runs, Enter keeps what is typed")
	await _answered()
	var message: MessageBubble = _message(0)
	check_equal(message.text, FOX + " the lazy dog.", "the message")
	check(message.note.begins_with("4 tokens"), "its remark is '%s'" % message.note)
	check(_status().contains("context 11 / 256"), "the status is '%s'" % _status())
	if DisplayServer.has_feature(DisplayServer.FEATURE_CLIPBOARD):
		message.copy()
		check_equal(DisplayServer.clipboard_get(), message.text, "the clipboard")


func test_a_conversation() -> void:
	await _open(MODEL)
	_prompt().continues_text = false
	_type("What is the capital of France?")
	_press(KEY_ENTER)
	await _answered()
	check_equal(_message(0).author, MessageBubble.Author.USER, "who asks")
	check_equal(_message(1).text, "The capital of France", "the answer")
	check_equal(_llm.get_chat_history().size(), 2, "messages in the history")


func test_a_loaded_model_tells_whether_it_chats() -> void:
	var path: String = "user://test-chat-scene-it.gguf"
	var absolute: String = ProjectSettings.globalize_path(path)
	DirAccess.remove_absolute(path)
	DirAccess.open("user://").create_link(ProjectSettings.globalize_path(MODEL), absolute)
	await _open("")
	_chat.open_model(path)
	check(not _prompt().continues_text, "by its name it chats")
	check("What is a compute shader?" in _suggestions(), "the suggestions are questions")
	await _loaded()
	check(_prompt().continues_text, "without a template it goes on with a text")
	check(FOX in _suggestions(), "the suggestions are beginnings")
	_prompt().continues_text = false
	_llm.context_length = 128
	_llm.start_worker()
	await _loaded()
	check(not _prompt().continues_text, "what the user chose stays when it loads again")
	DirAccess.remove_absolute(path)

	check(ModelReport.is_chat_model("base.gguf", "template"), "a template counts more than a name")


func test_titles_of_models() -> void:
	check_equal(ModelReport.title("res://models/small-1b.gguf"), "small-1b", "a file's")
	check_equal(ModelReport.title("echo:<think>A / B</think>C"), "echo", "the echo's")
	check_equal(
		ModelReport.title("x".repeat(50)).length(), ModelReport.LONGEST_TITLE, "a long one's"
	)


func test_a_refused_text_comes_back() -> void:
	expect_error("context_length is 256")
	await _open(MODEL)
	var text: String = "far too long ".repeat(100).strip_edges()
	_prompt().text = text
	_press(KEY_ENTER)
	await _answered()
	check_equal(_prompt().text, text, "the prompt")
	check_equal(_messages().message_count(), 0, "messages")
	var problem: Label = _chat.get_node("%ErrorBanner").get_node("%Problem")
	check(problem.is_visible_in_tree(), "the banner is there")
	check(problem.text.begins_with("The prompt has"), "it says '%s'" % problem.text)


func test_escape_stops_and_ctrl_n_begins_anew() -> void:
	await _open(MODEL)
	_llm.max_tokens = 0
	_type(FOX)
	_press(KEY_ENTER)
	await until(func() -> bool: return _message(0).text.length() > FOX.length(), "text")
	_press(KEY_ESCAPE)
	check(not _llm.is_answering(), "Escape stops")
	await frames(3)
	check(_message(0).note.ends_with("stopped"), "its remark is '%s'" % _message(0).note)
	check(not _prompt().busy, "one can ask again")
	_type("Once upon")
	_press(KEY_ENTER)
	_press(KEY_N, {"ctrl": true})
	await frames(3)
	check(not _llm.is_answering(), "Ctrl+N stops")
	check_equal(_messages().message_count(), 0, "messages after Ctrl+N")
	check(
		(_chat.get_node("%EmptyState") as Control).is_visible_in_tree(), "the empty state is back"
	)


func test_a_bad_file_is_told_and_can_be_retried() -> void:
	var path: String = "user://test_chat_scene.gguf"
	DirAccess.remove_absolute(path)
	expect_error("does not exist")
	await _open("")
	_press(KEY_O, {"ctrl": true})
	var picker: ModelPicker = _chat.get_node("%ModelPicker")
	check(picker.visible, "Ctrl+O opens the dialog")
	picker.hide()
	picker.file_selected.emit(path)
	var banner: ErrorBanner = _chat.get_node("%ErrorBanner")
	await until(func() -> bool: return banner.visible, "the banner")
	var problem: String = (banner.get_node("%Problem") as Label).text
	check(problem.contains("test_chat_scene.gguf: file: does not exist"), "it says '%s'" % problem)
	_type("x")
	check_equal(_prompt().text, "x", "one can go on typing")

	var folder: DirAccess = DirAccess.open("user://")
	folder.create_link(ProjectSettings.globalize_path(MODEL), ProjectSettings.globalize_path(path))
	(banner.get_node("%Retry") as Control).grab_focus()
	_press(KEY_ENTER)
	check(not banner.visible, "trying again takes the banner away")
	await _loaded()
	check(_status().begins_with("Ready"), "the status is '%s'" % _status())
	DirAccess.remove_absolute(path)
	get_window().files_dropped.emit(PackedStringArray(["user://picture.png"]))
	problem = (banner.get_node("%Problem") as Label).text
	check_equal(problem, "picture.png is no GGUF file.", "what a dropped picture gives")


func test_settings_by_keyboard() -> void:
	await _open("")
	_press(KEY_COMMA, {"ctrl": true})
	var panel: SettingsPanel = _chat.get_node("%SettingsPanel")
	check(panel.visible, "Ctrl+, opens the settings")
	_press(KEY_TAB)  # to the system prompt
	_type("Be brief.")
	_press(KEY_TAB)
	_press(KEY_TAB)  # over the preset
	await frames(2)  # nobody types within one frame, and the field is not prepared for it
	_press(KEY_A, {"ctrl": true})
	_type("0.5")
	_press(KEY_TAB)
	await frames(2)
	check_equal(_llm.system_prompt, "Be brief.", "system_prompt")
	check_equal(_llm.sampling.temperature, 0.5, "temperature")
	_press(KEY_ESCAPE)
	check(not panel.visible, "Escape closes the settings")
	_type("x")
	check_equal(_prompt().text, "x", "and gives the prompt the focus")


func test_tab_reaches_everything() -> void:
	await _open("")
	_messages().show()
	_messages().add_message(MessageBubble.Author.USER, "Hello")
	_chat.send("no model is open, so this shows the banner")
	await frames(2)
	var reached: PackedStringArray = []
	for _step: int in 12:
		_press(KEY_TAB)
		reached.append(get_viewport().gui_get_focus_owner().name)
	for wanted: String in "Model NewChat Settings Copy Open Dismiss Input Mode Send".split(" "):
		check(wanted in reached, "Tab goes to %s; it goes to %s" % [wanted, ", ".join(reached)])


func test_the_end_is_followed_until_one_scrolls_up() -> void:
	await _open("")
	var list: MessageList = _messages()
	list.show()
	var message: MessageBubble = list.add_message(MessageBubble.Author.ASSISTANT)
	message.append_text("A line.\n".repeat(200))
	await frames(3)
	var bar: VScrollBar = (list.get_node("%Scroll") as ScrollContainer).get_v_scroll_bar()
	check_equal(bar.value, bar.max_value - bar.page, "at the end")
	_press(KEY_PAGEUP)
	var place: float = bar.value
	message.append_text("A line.\n".repeat(20))
	await frames(3)
	check_equal(bar.value, place, "the place after scrolling up")
	(list.get_node("%JumpToEnd") as Button).pressed.emit()
	message.append_text("A line.\n".repeat(20))
	await frames(3)
	check_equal(bar.value, bar.max_value - bar.page, "at the end again")


func test_everything_fits_the_window() -> void:
	await _open("")
	_messages().show()
	_messages().add_message(MessageBubble.Author.USER, "A rather long question. ".repeat(20))
	_chat.send("no model is open, so this shows the banner")
	var window: Window = get_window()
	var before: Vector2i = window.size
	for size: Vector2i in [Vector2i(3840, 2160), Vector2i(480, 360)] as Array[Vector2i]:
		window.size = size
		await frames(3)
		for name: String in ["TopBar", "ErrorBanner", "PromptBox"]:
			var control: Control = _chat.get_node("%" + name)
			var place: Rect2 = control.get_global_rect()
			check(
				_chat.get_global_rect().encloses(place), "%s is at %s of %s" % [name, place, size]
			)
	_press(KEY_COMMA, {"ctrl": true})
	await frames(3)
	var panel: Control = _chat.get_node("%SettingsPanel")
	check(_chat.get_global_rect().encloses(panel.get_global_rect()), "the settings fit")
	window.size = before


func test_what_is_remembered() -> void:
	var path: String = "user://test_chat_preferences.cfg"
	DirAccess.remove_absolute(path)
	var first: ChatPreferences = ChatPreferences.new(path)
	first.model_path = MODEL
	first.set_setting(&"top_k", 7)
	first.set_setting(&"executor", "reference")
	first.save()
	var second: ChatPreferences = ChatPreferences.new(path)
	check_equal(second.model_path, MODEL, "the model")
	check_equal(second.settings(), {&"top_k": 7} as Dictionary[StringName, Variant], "settings")
	DirAccess.remove_absolute(path)


func test_the_command_line() -> void:
	var arguments: LaunchArguments = LaunchArguments.parse(
		[
			"--model=a b.gguf",
			"--raw",
			"--top-k",
			"7",
			"--min-p=0.5",
			"--seed",
			"x",
			"--lora=a b.gguf:0.5,C:c",
			"--prompt=--top-k=3"
		]
	)
	check_equal(arguments.model_path, "a b.gguf", "the model")
	var adapters: Array = arguments.adapters.map(
		func(each: LLMAdapter) -> Array: return [each.path, each.weight]
	)
	check_equal(adapters, [["a b.gguf", 0.5], ["C:c", 1.0]], "the adapters")
	var wanted: Dictionary[StringName, Variant] = {&"top_k": 7, &"min_p": 0.5}
	check_equal(arguments.settings, wanted, "settings")
