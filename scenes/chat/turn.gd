class_name Turn
extends RefCounted
## One question on the screen and the answer that grows below it, or behind it in the same message
## where the model continues the text.

## What was asked.
var question: String
## The model continues the question instead of answering it.
var is_continuation: bool
## The [LLM] node's id for it.
var request: int = 0
## Some of the answer came.
var has_text: bool = false

var _messages: MessageList
var _answer: MessageBubble


## Adds the messages to [param messages]; [param waiting_for] is told until text comes.
func _init(messages: MessageList, asked: String, continues_text: bool, waiting_for: String) -> void:
	_messages = messages
	question = asked
	is_continuation = continues_text
	if not is_continuation:
		messages.add_message(MessageBubble.Author.USER, asked)
	_answer = messages.add_message(MessageBubble.Author.ASSISTANT)
	if is_continuation:
		_answer.append_quote(asked)
	_answer.note = waiting_for


## Adds a piece of the answer.
func append(piece: String) -> void:
	has_text = true
	_answer.note = ""
	_answer.append_text(piece)


## Puts a remark below the answer.
func remark(note: String) -> void:
	_answer.note = note


## Takes the messages off the screen.
func take_back() -> void:
	_messages.remove_last(1 if is_continuation else 2)
