class_name Chat
extends Control
## The chat window: joins one [LLM] node to the views.
##
## The views say what the user wants; the node says what happens. Nothing here waits for either.

## Below this width the settings take the conversation's place instead of standing beside it.
const NARROW: float = 760.0
## Below this height the line of keyboard hints makes room.
const LOW: float = 460.0

## Opened where no other model is named or remembered, if the file exists.
@export_file("*.gguf") var default_model: String = "res://.models/gemma-3-270m-q4_k_m.gguf"
## Where the last model and the settings are kept; empty keeps nothing.
@export var preferences_path: String = "user://chat.cfg"

var _preferences: ChatPreferences
var _settings_sync: SettingsSync
var _turn: Turn = null  # the one that runs
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
	_settings_sync = SettingsSync.new(_llm, _settings, _preferences, arguments.settings)
	_connect_engine()
	_connect_views()
	_on_resized()
	_prompt.focus_input()
	for path: String in [arguments.model_path, _preferences.model_path, default_model]:
		# What was asked for is opened even if it is not there, so that the window says so.
		if not path.is_empty() and (path == arguments.model_path or FileAccess.file_exists(path)):
			open_model(path)
			return
	_show_empty()
	_show_status()


func _exit_tree() -> void:
	_preferences.save()


func _unhandled_key_input(event: InputEvent) -> void:
	if not event.is_action_pressed(&"ui_cancel"):
		return
	if _turn != null:
		_llm.stop_generation()
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
	_banner.hide()
	var waiting_for: String = "Waiting for the model…" if _llm.is_loading() else "Reading…"
	_turn = Turn.new(_messages, text, _prompt.continues_text, waiting_for)
	_turn.request = _llm.complete(text) if _turn.is_continuation else _llm.ask(text)
	_prompt.busy = true
	_prompt.focus_input()
	_stats_timer.start()
	_show_empty()


## Begins a new conversation.
func new_chat() -> void:
	_llm.reset_context()
	_end_turn()
	_messages.clear()
	_banner.hide()
	_show_empty()
	_show_status()
	_prompt.focus_input()


func _connect_engine() -> void:
	_llm.load_progress.connect(_on_load_progress)
	_llm.worker_started.connect(_on_worker_started)
	_llm.worker_failed.connect(_on_worker_failed)
	_llm.response_updated.connect(_on_response_updated)
	_llm.response_ended.connect(_on_response_ended)
	_stats_timer.timeout.connect(_show_status)


func _connect_views() -> void:
	resized.connect(_on_resized)
	get_window().files_dropped.connect(_on_files_dropped)
	_top_bar.open_requested.connect(_pick_model)
	_top_bar.new_chat_requested.connect(new_chat)
	_top_bar.settings_toggled.connect(_show_settings)
	_empty.open_requested.connect(_pick_model)
	_empty.suggestion_chosen.connect(send)
	_banner.open_requested.connect(_pick_model)
	_banner.retry_requested.connect(_load)
	_prompt.submitted.connect(send)
	_prompt.stop_requested.connect(_llm.stop_generation)
	_prompt.scroll_requested.connect(_messages.scroll_pages)
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


func _end_turn() -> void:
	_turn = null
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
		_top_bar.show_status(ModelReport.status(stats, _turn != null))
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
	if _turn != null:
		_turn.remark("Reading…")


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


func _on_response_updated(id: int, text: String) -> void:
	if _turn != null and _turn.request == id:
		_turn.append(text)


func _on_response_ended(id: int, reason: String) -> void:
	if _turn == null or _turn.request != id:
		return
	if reason == "error" or (reason == "cancelled" and not _turn.has_text):
		_take_back()
	else:
		_turn.remark(ModelReport.ending(reason, _llm.get_stats()))
	# When the model did not load, the banner tells that already.
	if reason == "error" and not _banner.visible:
		var error: String = _llm.get_last_error().trim_prefix("request %d: " % id)
		var problem: String = error.left(1).to_upper() + error.substr(1)
		var advice: String = ModelReport.answer_advice(error, _llm.model_path)
		_banner.show_error(problem, advice, false, false)
	_end_turn()
	_show_status()


## The turn left no trace in the history, so it leaves none here; but the words are not lost.
func _take_back() -> void:
	_turn.take_back()
	if _prompt.text.is_empty():
		_prompt.text = _turn.question
	_show_empty()


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
	_hint.visible = size.y >= LOW
