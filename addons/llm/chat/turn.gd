@tool
extends RefCounted
## One question on the screen and the answer that grows below it, or behind it in the same message
## where the model continues the text.
##
## Messages that it takes the place of are hidden until it is known whether it stays.

const MessageBubble = preload("message_bubble.gd")
const MessageList = preload("message_list.gd")

## What was asked.
var question: String
## The model continues the question instead of answering it.
var is_continuation: bool
## The question had an answer already.
var is_again: bool
## The [LLM] node's id for it.
var request: int = 0
## Some of the answer came.
var has_text: bool = false
## The node's history before a message of it was edited.
var history: Array = []

var _messages: MessageList
var _replaced: Array[MessageBubble] = []
var _asked: MessageBubble = null  # where it is one of its own
var _answer: MessageBubble


## Adds the messages to [param messages], in the place of those from [param first] on, if given:
## the answer that the question had, or an earlier question. [param waiting_for] is told until
## text comes.
func _init(
	messages: MessageList,
	asked: String,
	continues_text: bool,
	waiting_for: String,
	first: MessageBubble = null
) -> void:
	_messages = messages
	question = asked
	is_continuation = continues_text
	is_again = first != null and first.author == MessageBubble.Author.ASSISTANT
	if first != null:
		_replaced = messages.from(first)
	for bubble: MessageBubble in _replaced:
		bubble.hide()
	if not is_continuation and not is_again:
		_asked = messages.add_message(MessageBubble.Author.USER, asked)
	_answer = messages.add_message(MessageBubble.Author.ASSISTANT)
	if is_continuation:
		_answer.append_quote(asked)
	_answer.note = waiting_for


## Adds a piece of what the model thinks.
func append_reasoning(piece: String) -> void:
	_answer.note = ""
	_answer.append_reasoning(piece)


## Adds a piece of the answer.
func append(piece: String) -> void:
	has_text = true
	_answer.note = ""
	_answer.append_text(piece)


## Puts a remark below the answer.
func remark(note: String) -> void:
	_answer.note = note


## The turn is over and stays; where it is part of the node's history, the answer is
## [param last_index] there, which is the end.
func keep(last_index: int) -> void:
	_answer.finish()
	for bubble: MessageBubble in _replaced:
		_messages.remove(bubble)
	if is_continuation:
		return
	_answer.history_index = last_index
	if _asked != null:
		_asked.history_index = last_index - 1


## Takes the messages off the screen, and puts back those that were there.
func take_back() -> void:
	_messages.remove(_answer)
	if _asked != null:
		_messages.remove(_asked)
	for bubble: MessageBubble in _replaced:
		bubble.show()
