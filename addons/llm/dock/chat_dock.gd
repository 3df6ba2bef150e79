@tool
extends VBoxContainer
## The chat in the editor: joins a node that answers there to the views of the chat window.

## The user wants to see the models of this machine, and get more.
signal models_requested

const Attachments = preload("attachments.gd")
const ContentColumn = preload("../chat/content_column.gd")
const Dialogue = preload("../chat/dialogue.gd")
const DockTheme = preload("dock_theme.gd")
const ErrorBanner = preload("../chat/error_banner.gd")
const MessageBubble = preload("../chat/message_bubble.gd")
const MessageList = preload("../chat/message_list.gd")
const ModelChoice = preload("model_choice.gd")
const ModelReport = preload("../chat/model_report.gd")
const PromptBox = preload("../chat/prompt_box.gd")
const SavedChats = preload("saved_chats.gd")
const ScriptInsertion = preload("script_insertion.gd")

const HINT: String = (
	"Ask about Godot or this project.\n\n"
	+ "Enter sends\nShift+Enter begins a new line\nEsc stops the answer\n"
	+ "Ctrl+Up brings back what was asked\nAlt+Up goes to code in answers;\n"
	+ "there Enter inserts it, Ctrl+C copies it\nAlt+L leads here from anywhere"
)

## Room for a script, an answer that changes it, and what was said before.
const CONTEXT_LENGTH: int = 8192
const MARGIN: float = 4.0

## The node that answers. It is no child of the dock, which leaves the tree where it is moved.
var llm: LLM = LLM.create()

var _dialogue: Dialogue
var _saved: SavedChats = SavedChats.new()
var _edited: MessageBubble = null  # the question that is typed anew
var _is_taking_theme: bool = false
var _chat: String = ""  # which of the saved ones it is; empty until it is saved

@onready var _models: ModelChoice = %Models
@onready var _manage: Button = %Manage
@onready var _chats: MenuButton = %Chats
@onready var _new_chat: Button = %NewChat
@onready var _progress: ProgressBar = %LoadProgress
@onready var _messages: MessageList = %MessageList
@onready var _empty: Label = %Empty
@onready var _banner: ErrorBanner = %ErrorBanner
@onready var _attachments: Attachments = %Attachments
@onready var _prompt: PromptBox = %PromptBox
@onready var _status: Label = %Status


func _ready() -> void:
	_empty.text = HINT if OS.get_name() != "macOS" else HINT.replace("Ctrl", "Cmd")
	_messages.can_insert = true
	(_messages.get_node(^"%Column") as ContentColumn).margin = MARGIN
	_take_theme()


func _notification(what: int) -> void:
	if what == NOTIFICATION_THEME_CHANGED and is_node_ready():
		_take_theme()


## Begins, with a plugin in whose place in the tree the node answers.
func open(plugin: EditorPlugin) -> void:
	llm.context_length = CONTEXT_LENGTH
	llm.max_tokens = 0
	plugin.add_child(llm, false, Node.INTERNAL_MODE_BACK)
	_rest()
	_dialogue = Dialogue.new(llm, _messages)
	_attachments.watch(plugin, llm)
	_connect_views()
	llm.load_progress.connect(_on_load_progress)
	llm.worker_started.connect(_on_worker_started)
	llm.worker_failed.connect(_on_worker_failed)
	_dialogue.turn_began.connect(_on_turn_began)
	_dialogue.turn_kept.connect(_on_turn_kept)
	_dialogue.turn_taken_back.connect(_on_turn_taken_back)
	_models.look()
	_show_status()


## Ends, with all that the node does.
func close() -> void:
	llm.free()


func focus_prompt() -> void:
	_prompt.focus_input()


## Asks [param text], with what is attached.
func send(text: String) -> void:
	if _models.path.is_empty():
		_prompt.text = text
		_banner.show_error("There is no model yet.", "Choose or download one.", false, true)
		return
	_wake()
	llm.model_path = _models.path
	llm.system_prompt = _attachments.system_prompt()
	var edited: MessageBubble = _edited
	_end_edit()
	if edited == null:
		_dialogue.ask(text, false)
	else:
		_dialogue.ask_from(edited, text)


## Has the user type another question in the place of [param asked].
func edit(asked: MessageBubble) -> void:
	_end_edit()
	if asked != null:
		_edited = asked
		_messages.show_edited(asked)
		_prompt.edit(asked.text)


## Begins another conversation; this one stays in the menu.
func new_chat() -> void:
	_end_edit()
	_dialogue.clear()
	_chat = ""
	_after_turn()
	_banner.hide()
	focus_prompt()


## Shows a conversation that was saved.
func open_chat(chat: String) -> void:
	_end_edit()
	_dialogue.clear()
	if llm.load_state(_saved.path_of(chat)):
		_chat = chat
		_dialogue.show_history()
	else:
		_chat = ""
		_banner.show_error(llm.get_last_error(), "A new conversation begins.")
	_after_turn()
	focus_prompt()


func _connect_views() -> void:
	_models.chosen.connect(_on_model_chosen)
	_manage.pressed.connect(models_requested.emit)
	_manage.visible = not models_requested.get_connections().is_empty()
	_chats.about_to_popup.connect(_list_chats)
	_chats.get_popup().id_pressed.connect(_on_chat_picked)
	_new_chat.pressed.connect(new_chat)
	_messages.retry_requested.connect(_ask_again)
	_messages.edit_requested.connect(edit)
	_messages.insert_requested.connect(_insert)
	_banner.open_requested.connect(_models.pick)
	_banner.retry_requested.connect(_load)
	_prompt.submitted.connect(send)
	_prompt.stop_requested.connect(llm.stop_generation)
	_prompt.edit_requested.connect(func() -> void: edit(_messages.latest_editable()))
	_prompt.scroll_requested.connect(_messages.scroll_pages)


func _shortcut_input(event: InputEvent) -> void:
	var key: InputEventKey = event as InputEventKey
	var focused: Control = get_viewport().gui_get_focus_owner()
	if key == null or not key.pressed or focused == null or not is_ancestor_of(focused):
		return
	match key.get_keycode_with_modifiers():
		KEY_ESCAPE when _dialogue.is_running:
			llm.stop_generation()
		KEY_ESCAPE when _edited != null:
			_end_edit()
		KEY_ESCAPE when _banner.visible:
			_banner.hide()
		KEY_ESCAPE:
			focus_prompt()
		KEY_MASK_ALT | KEY_UP:
			_messages.focus_code(-1)
		KEY_MASK_ALT | KEY_DOWN:
			_messages.focus_code(1)
		_:
			return
	get_viewport().set_input_as_handled()


func _ask_again() -> void:
	_end_edit()
	_wake()
	llm.model_path = _models.path
	_dialogue.ask_again()


func _end_edit() -> void:
	if _edited != null:
		_edited = null
		_messages.show_edited(null)
		_prompt.end_edit()


func _load() -> void:
	_banner.hide()
	_wake()
	llm.model_path = _models.path
	llm.start_worker()
	_on_load_progress(0.0)


func _insert(code: String) -> void:
	var problem: String = ScriptInsertion.insert(code)
	if not problem.is_empty():
		_banner.show_error(problem, "Open the script and set the cursor where the code belongs.")


## The node's signals come in its _process(), which runs while something is to come.
func _wake() -> void:
	llm.set_process(true)


func _rest() -> void:
	llm.set_process(llm.is_loading() or llm.is_answering())


func _after_turn() -> void:
	_prompt.busy = false
	_empty.visible = _messages.message_count() == 0
	_messages.visible = not _empty.visible
	_show_status()
	_rest.call_deferred()


func _show_status() -> void:
	var stats: Dictionary = llm.get_stats()
	if not str(stats["model"]).is_empty():
		_status.text = ModelReport.status(stats, _dialogue.is_running)
	elif _models.path.is_empty():
		_status.text = "No model was found"
	else:
		_status.text = "The model loads with the first question"
	_status.tooltip_text = _status.text


func _on_model_chosen() -> void:
	_attachments.refresh()
	if llm.is_loading() or not str(llm.get_stats()["model"]).is_empty():
		_load()
	_show_status()


func _on_load_progress(fraction: float) -> void:
	_progress.value = fraction
	_progress.modulate.a = 0.0 if fraction >= 1.0 else 1.0
	_status.text = "Loading…  %d %%" % roundi(fraction * 100.0)


func _on_worker_started() -> void:
	_on_load_progress(1.0)
	_attachments.refresh()
	_show_status()
	_rest.call_deferred()


func _on_worker_failed(error: String) -> void:
	_on_load_progress(1.0)
	var advice: String = ModelReport.load_advice(error, llm.model_path)
	_banner.show_error(ModelReport.shown_error(error, llm.model_path), advice, true, true)
	_status.text = "Not loaded"
	_rest.call_deferred()


func _on_turn_began() -> void:
	_banner.hide()
	_prompt.busy = true
	_empty.hide()
	_messages.show()


func _on_turn_kept(_reason: String) -> void:
	_chat = _saved.save(llm, _chat)
	if _chat.is_empty():
		_banner.show_error(llm.get_last_error(), "The conversation will not be there again.")
	_after_turn()


## The turn left no trace in the history, so it leaves none here; but the words are not lost.
func _on_turn_taken_back(reason: String, question: String, was_again: bool) -> void:
	if _prompt.text.is_empty() and not was_again:
		_prompt.text = question
	if reason == "error" and not _banner.visible:
		var error: String = ModelReport.without_request(llm.get_last_error())
		_banner.show_error(error, ModelReport.answer_advice(error, llm.model_path, was_again))
	_after_turn()


func _list_chats() -> void:
	var menu: PopupMenu = _chats.get_popup()
	menu.clear()
	for chat: String in _saved.newest_first():
		menu.add_radio_check_item(_saved.title_of(chat))
		menu.set_item_metadata(-1, chat)
		menu.set_item_checked(-1, chat == _chat)
	if menu.item_count == 0:
		menu.add_item("Conversations are kept here")
		menu.set_item_disabled(0, true)
	elif not _chat.is_empty():
		menu.add_separator()
		menu.add_item("Delete this conversation")


func _on_chat_picked(id: int) -> void:
	var menu: PopupMenu = _chats.get_popup()
	var chat: Variant = menu.get_item_metadata(menu.get_item_index(id))
	if chat != null:
		open_chat(chat)
	else:
		_saved.remove(_chat)
		new_chat()


func _take_theme() -> void:
	if _is_taking_theme:  # which tells that it has changed
		return
	_is_taking_theme = true
	theme = DockTheme.make(EditorInterface.get_editor_theme(), EditorInterface.get_editor_scale())
	_is_taking_theme = false
