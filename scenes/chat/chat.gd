class_name Chat
extends Control
## The chat window: joins one [LLM] node to the views.
##
## The views say what the user wants; the node says what happens. Nothing here waits for either.

const Dialogue = preload("res://addons/llm/chat/dialogue.gd")
const ErrorBanner = preload("res://addons/llm/chat/error_banner.gd")
const MessageBubble = preload("res://addons/llm/chat/message_bubble.gd")
const MessageList = preload("res://addons/llm/chat/message_list.gd")
const ModelPicker = preload("res://addons/llm/chat/model_picker.gd")
const ModelReport = preload("res://addons/llm/chat/model_report.gd")
const PromptBox = preload("res://addons/llm/chat/prompt_box.gd")

## Below this width the settings take the conversation's place instead of standing beside it.
const NARROW: float = 760.0
## Below this height the line of keyboard hints makes room.
const LOW: float = 460.0
const HINT: String = "Enter sends  ·  Shift+Enter begins a new line  ·  Esc stops the answer"
const EDIT_HINT: String = "Enter asks again from here: what follows goes  ·  Esc leaves it as it is"

## Opened where no other model is named or remembered, if the file exists.
@export_file("*.gguf") var default_model: String = "res://.models/gemma-3-270m-q4_k_m.gguf"
## Where the last model and the settings are kept, and beside them the conversation; empty keeps
## nothing.
@export var preferences_path: String = "user://chat.cfg"
## The conversation is there again at the next start. What was continued is no part of it.
@export var keeps_conversation: bool = true:
	set(value):
		keeps_conversation = value
		if not value and is_node_ready():
			_keep_conversation()

var _preferences: ChatPreferences
var _settings_sync: SettingsSync
var _dialogue: Dialogue
var _edited: MessageBubble = null  # the question that is typed anew
var _is_mode_guessed: bool = false  # chat or continue, by the name of a file that is not loaded

@onready var _llm: LLM = %LLM
@onready var _top_bar: TopBar = %TopBar
@onready var _messages: MessageList = %MessageList
@onready var _empty: EmptyState = %EmptyState
@onready var _empty_place: Control = %EmptyPlace
@onready var _banner: ErrorBanner = %ErrorBanner
@onready var _prompt: PromptBox = %PromptBox
@onready var _hint: Label = %Hint
@onready var _main: Control = %Main
@onready var _settings: SettingsPanel = %SettingsPanel
@onready var _picker: ModelPicker = %ModelPicker
@onready var _stats_timer: Timer = %StatsTimer


func _ready() -> void:
	var arguments: LaunchArguments = LaunchArguments.parse(OS.get_cmdline_user_args())
	_preferences = ChatPreferences.new(preferences_path)
	var owners: Array[Object] = [self, _llm.sampling, _llm]
	_settings_sync = SettingsSync.new(owners, _settings, _preferences, arguments.settings)
	_llm.adapters = arguments.adapters
	_dialogue = Dialogue.new(_llm, _messages)
	_connect_engine()
	_connect_views()
	_on_resized()
	_prompt.focus_input()
	_open_first(arguments.model_path)
	_restore_conversation()


func _open_first(named: String) -> void:
	for path: String in [named, _preferences.model_path, default_model]:
		# What was asked for is opened even if it is not there, so that the window says so.
		if not path.is_empty() and (path == named or _llm.has_model_file(path)):
			open_model(path)
			return
	_show_empty()
	_show_status()


func _exit_tree() -> void:
	_preferences.save()


func _unhandled_key_input(event: InputEvent) -> void:
	if not event.is_action_pressed(&"ui_cancel"):
		return
	if _dialogue.is_running:
		_llm.stop_generation()
	elif _edited != null:
		_end_edit()
	elif _banner.visible:
		_banner.hide()
	elif _settings.visible:
		_show_settings(false)
	else:
		return
	get_viewport().set_input_as_handled()


## Loads the model at [param path], in place of the one that was open.
func open_model(path: String) -> void:
	_llm.model_path = path
	_is_mode_guessed = true
	_prompt.continues_text = not ModelReport.is_chat_model(path)
	_prompt.focus_input()
	_load()


## Sends [param text] to the model.
func send(text: String) -> void:
	if _llm.model_path.is_empty():
		_prompt.text = text
		_banner.show_error("No model is open.", "Open a GGUF file first.", false, true)
		return
	if _edited == null:
		_dialogue.ask(text, _prompt.continues_text)
		return
	var edited: MessageBubble = _edited
	_end_edit()
	_dialogue.ask_from(edited, text)


## Asks for another answer in the place of the latest.
func ask_again() -> void:
	_end_edit()
	_dialogue.ask_again()


## Has the user type another question in the place of [param asked].
func edit(asked: MessageBubble) -> void:
	if asked == null:
		return
	_end_edit()
	_edited = asked
	_messages.show_edited(asked)
	_prompt.edit(asked.text)
	_on_resized()


## Begins a new conversation.
func new_chat() -> void:
	_end_edit()
	_dialogue.clear()
	_keep_conversation()
	_end_turn()
	_banner.hide()
	_show_empty()
	_show_status()
	_prompt.focus_input()


func _connect_engine() -> void:
	_llm.load_progress.connect(_on_load_progress)
	_llm.worker_started.connect(_on_worker_started)
	_llm.worker_failed.connect(_on_worker_failed)
	_dialogue.turn_began.connect(_on_turn_began)
	_dialogue.turn_kept.connect(_on_turn_kept)
	_dialogue.turn_taken_back.connect(_on_turn_taken_back)
	_stats_timer.timeout.connect(_show_status)


func _connect_views() -> void:
	resized.connect(_on_resized)
	get_window().files_dropped.connect(_on_files_dropped)
	_top_bar.open_requested.connect(_pick_model)
	_top_bar.new_chat_requested.connect(new_chat)
	_top_bar.settings_toggled.connect(_show_settings)
	_empty.open_requested.connect(_pick_model)
	_empty.suggestion_chosen.connect(send)
	_messages.retry_requested.connect(ask_again)
	_messages.edit_requested.connect(edit)
	_banner.open_requested.connect(_pick_model)
	_banner.retry_requested.connect(_load)
	_prompt.submitted.connect(send)
	_prompt.stop_requested.connect(_llm.stop_generation)
	_prompt.scroll_requested.connect(_messages.scroll_pages)
	_prompt.edit_requested.connect(_on_edit_requested)
	_settings.close_requested.connect(_show_settings.bind(false))
	_settings_sync.reload_needed.connect(_load)
	_picker.model_chosen.connect(open_model)


func _load() -> void:
	if _llm.model_path.is_empty():
		return
	_banner.hide()
	_top_bar.show_model(ModelReport.title(_llm.model_path), _llm.model_path)
	get_window().title = ModelReport.title(_llm.model_path)
	_top_bar.show_load_progress(0.0)
	_top_bar.show_status("Loading…")
	_llm.start_worker()
	_show_empty()


func _pick_model() -> void:
	_picker.open_near(_llm.model_path if not _llm.model_path.is_empty() else default_model)


func _end_edit() -> void:
	if _edited == null:
		return
	_edited = null
	_messages.show_edited(null)
	_prompt.end_edit()
	_on_resized()


func _end_turn() -> void:
	_prompt.busy = false
	_stats_timer.stop()


func _show_settings(is_open: bool) -> void:
	_settings.visible = is_open
	_top_bar.is_settings_open = is_open
	_on_resized()
	if is_open:
		_settings.focus_first()
	else:
		_preferences.save()
		_prompt.focus_input()


func _show_empty() -> void:
	_empty_place.visible = _messages.message_count() == 0
	_messages.visible = not _empty_place.visible
	var stats: Dictionary = _llm.get_stats()
	var is_chat_model: bool = ModelReport.is_chat_model(_llm.model_path, stats["chat_format"])
	_empty.show_model(_llm.model_path, _llm.is_loading() or _is_loaded(stats), is_chat_model)


func _show_status() -> void:
	var stats: Dictionary = _llm.get_stats()
	_top_bar.show_context(stats["context_used"], stats["context_length"])
	if _is_loaded(stats):
		_top_bar.show_status(ModelReport.status(stats, _dialogue.is_running))
	elif _llm.model_path.is_empty():
		_top_bar.show_status("A GGUF file can be dropped onto this window")


func _is_loaded(stats: Dictionary) -> bool:
	return not str(stats["model"]).is_empty()


func _on_load_progress(fraction: float) -> void:
	_top_bar.show_load_progress(fraction)
	_top_bar.show_status("Loading…  %d %%" % roundi(fraction * 100.0))


func _on_worker_started() -> void:
	_preferences.model_path = _llm.model_path
	_preferences.save()
	_top_bar.show_load_progress(1.0)
	_correct_mode()
	_show_empty()
	_show_status()


## Takes back a guess that was wrong. One that was right leaves the mode to the user.
func _correct_mode() -> void:
	if not _is_mode_guessed:
		return
	_is_mode_guessed = false
	var is_chat_model: bool = ModelReport.is_chat_model(
		_llm.model_path, _llm.get_stats()["chat_format"]
	)
	if is_chat_model != ModelReport.is_chat_model(_llm.model_path):
		_prompt.continues_text = not is_chat_model


func _on_worker_failed(error: String) -> void:
	_top_bar.show_load_progress(1.0)
	_top_bar.show_status("Not loaded")
	_show_empty()
	var path: String = _llm.model_path
	var problem: String = ModelReport.shown_error(error, path)
	_banner.show_error(problem, ModelReport.load_advice(error, path), true, true)


func _on_turn_began() -> void:
	_banner.hide()
	_prompt.busy = true
	_prompt.focus_input()
	_stats_timer.start()
	_show_empty()


func _on_turn_kept(_reason: String) -> void:
	_end_turn()
	_show_status()
	_keep_conversation()


## The turn left no trace in the history, so it leaves none here; but the words are not lost.
func _on_turn_taken_back(reason: String, question: String, was_again: bool) -> void:
	if _prompt.text.is_empty() and not was_again:
		_prompt.text = question
	# When the model did not load, the banner tells that already.
	if reason == "error" and not _banner.visible:
		var error: String = ModelReport.without_request(_llm.get_last_error())
		_banner.show_error(error, ModelReport.answer_advice(error, _llm.model_path, was_again))
	_end_turn()
	_show_empty()
	_show_status()


func _on_edit_requested() -> void:
	edit(_messages.latest_editable())


func _restore_conversation() -> void:
	var path: String = _conversation_path()
	if not keeps_conversation or not FileAccess.file_exists(path):
		return
	var system_prompt: String = _llm.system_prompt  # the one of the settings counts
	if _llm.load_state(path):
		_llm.system_prompt = system_prompt
		_dialogue.show_history()
		_show_empty()
	else:
		_banner.show_error(_llm.get_last_error(), "A new conversation begins.")


## At the end of each turn, so that nothing is lost whatever happens. Without what was computed of
## it: that is some 20 to 130 KB a token, which leaving would wait for, and a GPU computes it anew
## within the first question's own second or two.
func _keep_conversation() -> void:
	var path: String = _conversation_path()
	if path.is_empty():
		return
	if not keeps_conversation or _llm.get_chat_history().is_empty():
		DirAccess.remove_absolute(path)
	elif not _llm.save_state(path):
		_banner.show_error(_llm.get_last_error(), "The conversation will not be there again.")


func _conversation_path() -> String:
	return "" if preferences_path.is_empty() else preferences_path.get_basename() + ".state"


func _on_files_dropped(paths: PackedStringArray) -> void:
	for path: String in paths:
		if path.get_extension().to_lower() == "gguf":
			open_model(path)
			return
	var problem: String = "%s is no GGUF file." % paths[0].get_file()
	_banner.show_error(problem, "Drop a file whose name ends in .gguf.", false, true)


func _on_resized() -> void:
	var is_narrow: bool = size.x < NARROW
	_main.visible = not (is_narrow and _settings.visible)
	_settings.size_flags_horizontal = SIZE_EXPAND_FILL if is_narrow else SIZE_FILL
	_hint.text = HINT if _edited == null else EDIT_HINT
	_hint.visible = size.y >= LOW or _edited != null
