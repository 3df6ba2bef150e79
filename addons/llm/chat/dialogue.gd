@tool
extends RefCounted
## Keeps the conversation of the [LLM] node and the one on the screen alike, turn by turn.

## A turn began.
signal turn_began
## The turn is over and stays, for a [param reason] of [signal LLM.response_ended].
signal turn_kept(reason: String)
## The turn is over and left no trace; [param question] was asked, and [param was_again] where it
## has the answer that it had before.
signal turn_taken_back(reason: String, question: String, was_again: bool)

const MessageBubble = preload("message_bubble.gd")
const MessageList = preload("message_list.gd")
const ModelReport = preload("model_report.gd")
const Turn = preload("turn.gd")

## A turn runs.
var is_running: bool:
	get:
		return _turn != null

var _llm: LLM
var _messages: MessageList
var _turn: Turn = null


func _init(llm: LLM, messages: MessageList) -> void:
	_llm = llm
	_messages = messages
	llm.worker_started.connect(_on_worker_started)
	llm.history_truncated.connect(_on_history_truncated)
	llm.reasoning_updated.connect(_on_reasoning_updated)
	llm.response_updated.connect(_on_response_updated)
	llm.response_ended.connect(_on_response_ended)


## Asks [param text], or has it continued.
func ask(text: String, continues_text: bool) -> void:
	_begin(text, continues_text, null)


## Asks for another answer in the place of the latest message.
func ask_again() -> void:
	var latest: MessageBubble = _messages.latest()
	_begin(latest.quote, not latest.quote.is_empty(), latest)


## Asks [param text] in the place of the user's message [param asked], and of all after it.
func ask_from(asked: MessageBubble, text: String) -> void:
	var history: Array = _llm.get_chat_history()
	_llm.set_chat_history(history.slice(0, asked.history_index))
	_begin(text, false, asked)
	_turn.history = history


## Empties both.
func clear() -> void:
	_llm.reset_context()
	_turn = null
	_messages.clear()


## Shows the node's history, as after [method LLM.load_state].
func show_history() -> void:
	_messages.clear()
	var history: Array = _llm.get_chat_history()
	for index: int in history.size():
		var message: Dictionary = history[index]
		var is_user: bool = message["role"] == "user"
		var bubble: MessageBubble = _messages.add_message(
			MessageBubble.Author.USER if is_user else MessageBubble.Author.ASSISTANT,
			message["content"]
		)
		bubble.history_index = index
		if message.has("reasoning"):
			bubble.show_past_reasoning(message["reasoning"])
	_messages.update(true)


func _begin(text: String, continues_text: bool, first: MessageBubble) -> void:
	var waiting_for: String = "Waiting for the model…" if _llm.is_loading() else "Reading…"
	_turn = Turn.new(_messages, text, continues_text, waiting_for, first)
	if continues_text:
		_turn.request = _llm.complete(text)
	else:
		_turn.request = _llm.regenerate() if _turn.is_again else _llm.ask(text)
	_messages.update(false)
	turn_began.emit()


func _on_worker_started() -> void:
	if _turn != null:
		_turn.remark("Reading…")


func _on_history_truncated(dropped: int) -> void:
	_messages.drop_oldest(dropped)
	if _turn != null:
		_turn.history = _turn.history.slice(dropped)


func _on_reasoning_updated(id: int, text: String) -> void:
	if _turn != null and _turn.request == id:
		_turn.append_reasoning(text)


func _on_response_updated(id: int, text: String) -> void:
	if _turn != null and _turn.request == id:
		_turn.append(text)


func _on_response_ended(id: int, reason: String) -> void:
	if _turn == null or _turn.request != id:
		return
	var turn: Turn = _turn
	_turn = null
	# As the node's own history does.
	if reason == "error" or (reason == "cancelled" and not turn.has_text):
		turn.take_back()
		if not turn.history.is_empty():
			_llm.set_chat_history(turn.history)
		turn_taken_back.emit(reason, turn.question, turn.is_again)
	else:
		turn.remark(ModelReport.ending(reason, _llm.get_stats()))
		turn.keep(_llm.get_chat_history().size() - 1)
		turn_kept.emit(reason)
	_messages.update(true)
