extends "res://tests/godot/chat_case.gd"
## What the chat window does with turns: thoughts, other answers, other questions, what is kept.

const ReasoningBlock = preload("res://addons/llm/chat/reasoning_block.gd")

const PREFERENCES: String = "user://test_chat_turns.cfg"
const KEPT: String = "user://test_chat_turns.state"


func test_thoughts_are_in_sight_until_the_answer_begins() -> void:
	await _open_echo("echo:<think>I wonder.</think>Yes.")
	_chat.send("Really?")
	var message: MessageBubble = _message(1)
	var block: ReasoningBlock = message.get_node("%Reasoning")
	var fold: Button = block.get_node("%Fold")
	var thoughts: Control = block.get_node("%Panel")
	var seen: Array[Array] = []  # at each thought, as frames may pass over all of them
	var look: Callable = func(_id: int, _text: String) -> void:
		seen.append([fold.text, thoughts.is_visible_in_tree(), message.can_retry])
	_llm.reasoning_updated.connect(look)
	await _answered()
	check(not seen.is_empty(), "the model thinks")
	for each: Array in seen:
		check_equal(each, ["Thinking…", true, false], "title, in sight, another answer offered")
	check(fold.text.match("Thought for ? s"), "what is told then is '%s'" % fold.text)
	check(not thoughts.is_visible_in_tree(), "they are folded")
	check_equal(message.text, "Yes.", "the answer")
	fold.button_pressed = true
	check(thoughts.is_visible_in_tree(), "they can be opened")

	var panel: SettingsPanel = _chat.get_node("%SettingsPanel")
	panel.setting_changed.emit(&"allow_thinking", false)
	await _ask("And now?")
	check_equal(_message(3).text, "Yes.", "the answer")
	check(not (_message(3).get_node("%Reasoning") as Control).visible, "without thoughts")


func test_what_the_user_folds_stays_so() -> void:
	var block: ReasoningBlock = (
		(load("res://addons/llm/chat/reasoning_block.tscn") as PackedScene).instantiate()
	)
	add_child(block)
	block.append_text("I wonder.")
	for is_open: bool in [false, true] as Array[bool]:
		(block.get_node("%Fold") as Button).button_pressed = is_open
		block.append_text(" Still.")
		check_equal((block.get_node("%Panel") as Control).visible, is_open, "open")
	block.finish()
	check((block.get_node("%Panel") as Control).visible, "it stays open")


func test_what_the_model_sees_no_more_is_told() -> void:
	await _open_echo()
	for turn: int in 4:
		await _ask("Question %d, and a few words more." % turn)
	var headings: PackedStringArray = []
	for index: int in _messages().message_count():
		headings.append(_message(index).heading)
	var line: String = "The oldest 4 messages are no longer in the model's view"
	check_equal(headings, PackedStringArray(["", "", "", "", line, "", "", ""]), "headings")
	check(not _message(2).can_edit and _message(4).can_edit, "what is seen can be edited")
	check_equal(_message(4).history_index, 0, "its place in the history")
	_chat.edit(_message(4))
	await _ask("Another.")
	check_equal(_message(4).heading, line, "the heading of the message in its place")
	check_equal(_llm.get_chat_history().size(), 2, "messages in the history")
	_chat.new_chat()
	await _ask("Hello")
	check_equal(_message(0).heading, "", "in a new chat")


func test_another_answer() -> void:
	await _open_echo("echo:One.")
	await _ask("A number?")
	await _ask("Another?")
	check(not _message(1).can_retry and _message(3).can_retry, "the latest only")
	_llm.model_path = "echo:Two."
	_press(KEY_R, {"ctrl": true})
	check(_llm.is_answering() and not _message(3).visible, "Ctrl+R asks again")
	await _answered()
	check_equal(_messages().message_count(), 4, "messages")
	check_equal(_message(3).text, "Two.", "the answer")
	check_equal(_llm.get_chat_history()[3]["content"], "Two.", "that of the history")
	expect_error("does not exist")
	_llm.model_path = "user://nothing.gguf"
	(_message(3).get_node("%Retry") as Button).pressed.emit()
	await _answered()
	check(_message(3).visible and _message(3).can_retry, "after an error the answer is back")
	check_equal(_message(3).text, "Two.", "its text")
	check_equal(_prompt().text, "", "the question is not typed anew")

	_llm.model_path = "echo:"
	_prompt().continues_text = true
	await _ask("Once")
	_chat.ask_again()
	await _answered()
	check_equal(_message(4).text, "OnceOnce", "a text that was continued anew")
	check_equal(_messages().message_count(), 5, "messages")


func test_another_question() -> void:
	await _open_echo()
	for text: String in ["One", "Two", "Three"] as Array[String]:
		await _ask(text)
	_press(KEY_UP)
	check_equal(_prompt().text, "Three", "Up edits the latest question")
	_press(KEY_ESCAPE)
	check_equal(_prompt().text, "", "Escape leaves it as it is")
	_type("a draft")
	(_message(2).get_node("%Edit") as Button).pressed.emit()
	check_equal(_prompt().text, "Two", "the button edits its message")
	check(_message(2).modulate.a < 1.0 and _message(1).modulate.a == 1.0, "what goes is faded")
	expect_error("context_length is 256")
	_prompt().text = "far too long ".repeat(100)
	_press(KEY_ENTER)
	check_equal(_prompt().text, "a draft", "what was typed comes back")
	await _answered()
	check_equal(_messages().message_count(), 6, "after an error all is there")
	check_equal(_llm.get_chat_history().size(), 6, "also in the history")
	check(_message(5).visible and _message(5).modulate.a == 1.0, "and in sight")

	_chat.edit(_message(2))
	_prompt().text = "Four"
	_press(KEY_ENTER)
	await _answered()
	var said: Array[String] = []
	for message: Dictionary in _llm.get_chat_history():
		said.append(message["content"])
	check_equal(said, ["One", "One", "Four", "Four"] as Array[String], "the history")
	check_equal(_messages().message_count(), 4, "messages")
	check_equal(_message(3).text, "Four", "the answer")


func test_the_conversation_is_there_again() -> void:
	_forget()
	await _open_echo("echo:<think>Hm.</think>Yes.", PREFERENCES)
	await _ask("Really?")
	_chat.free()
	await _open("", PREFERENCES)
	check_equal(_messages().message_count(), 2, "messages")
	check_equal([_message(0).text, _message(1).text], ["Really?", "Yes."], "what was said")
	check_equal((_message(1).get_node("%Reasoning/Fold") as Button).text, "Thoughts", "the block")
	check(_message(0).can_edit and _message(1).can_retry, "one can go on")
	_chat.new_chat()
	check(not FileAccess.file_exists(KEPT), "a new chat is empty at the next start, too")

	_chat.open_model("echo:")
	await _loaded()
	_llm.context_length = 8192
	_llm.max_tokens = 0
	_chat.send("A long text. ".repeat(200))
	await until(func() -> bool: return not _message(1).text.is_empty(), "a piece")
	_chat.free()
	await _open("", PREFERENCES)
	check_equal(_messages().message_count(), 2, "messages of a turn that leaving stopped")
	var panel: SettingsPanel = _chat.get_node("%SettingsPanel")
	panel.setting_changed.emit(&"keeps_conversation", false)
	check(not FileAccess.file_exists(KEPT), "where the user does not want it, it is gone")
	_chat.free()
	_forget()


func test_a_damaged_conversation_is_told() -> void:
	_forget()
	expect_error("begins with")
	FileAccess.open(KEPT, FileAccess.WRITE).store_string("no conversation, whatever its name says")
	await _open("", PREFERENCES)
	check((_chat.get_node("%ErrorBanner") as Control).visible, "the banner")
	check_equal(_messages().message_count(), 0, "messages")
	_chat.free()
	_forget()


func test_presets() -> void:
	_forget()
	await _open("", PREFERENCES)
	var panel: SettingsPanel = _chat.get_node("%SettingsPanel")
	panel.setting_changed.emit(&"preset", "wild")
	check_equal(_shown(panel, &"temperature"), 1.5, "the temperature on show")
	check_equal(_llm.sampling.xtc_probability, 0.5, "a value of the preset")
	panel.setting_changed.emit(&"temperature", 1.25)
	check_equal(_shown(panel, &"preset"), "custom", "the preset on show")
	_chat.free()
	_chat = SCENE.instantiate()
	_chat.preferences_path = PREFERENCES
	_chat.default_model = ""
	add_child(_chat)
	var sampling: LLMSampling = (_chat.get_node("%LLM") as LLM).sampling
	check_equal([sampling.temperature, sampling.xtc_probability], [1.25, 0.5], "at the next start")
	_chat.free()
	_forget()


func _shown(panel: SettingsPanel, name: StringName) -> Variant:
	for row: SettingRow in panel.get_node("%Rows").get_children():
		if (row.get_node("%Label") as Label).text == ChatSettings.find(name).label:
			return row.value
	return null


func _forget() -> void:
	for path: String in [PREFERENCES, KEPT] as Array[String]:
		DirAccess.remove_absolute(path)
