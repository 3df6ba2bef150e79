@tool
extends VBoxContainer
## One message. Text is added as it arrives, can be selected, and can be copied with the button. The
## list offers more buttons where they are of use.

## The keyboard's focus came to this [param control].
signal part_focused(control: Control)
## The user wants another answer in the place of this one.
signal retry_requested
## The user wants to ask something else in the place of this question.
signal edit_requested
## The user wants [param code] where the cursor of a script is.
signal insert_requested(code: String)

enum Author { USER, ASSISTANT }

const CodeBlock = preload("code_block.gd")
const MessageText = preload("message_text.gd")
const ReasoningBlock = preload("reasoning_block.gd")

const COPY_ICON: Texture2D = preload("icons/copy.svg")
const DONE_ICON: Texture2D = preload("icons/done.svg")
const DONE_SECONDS: float = 1.5
## Widest a question gets, as a share of the column.
const USER_SHARE: float = 0.85

## Who wrote it. To be set before the first text.
var author: Author = Author.ASSISTANT:
	set = _set_author
## The message so far.
var text: String = ""
## What it begins with that is not the author's own.
var quote: String = ""
## Its place in the history of the [LLM] node; -1 where it is not part of that, or not any more.
var history_index: int = -1
## It was left out of the history, as that did not fit.
var is_out_of_view: bool = false
## A line above the message.
var heading: String = "":
	set(value):
		heading = value
		_heading.text = value
		_heading.visible = not value.is_empty()
## There is a button for another answer.
var can_retry: bool = false:
	set(value):
		can_retry = value
		_retry.visible = value
## There is a button to edit it.
var can_edit: bool = false:
	set(value):
		can_edit = value
		_edit.visible = value
## Code of an answer has a button to insert it. To be set before the first text.
var can_insert: bool = false:
	set(value):
		can_insert = value
		_answer.can_insert = value
## A short remark below the message: what is being waited for, or how the answer ended.
var note: String = "":
	set(value):
		note = value
		_note.text = value
		_note.visible = not value.is_empty()
## Width of the column that the message is in.
var available_width: float = 0.0:
	set(value):
		available_width = value
		_fit_width()

@onready var _heading: Label = %Heading
@onready var _reasoning: ReasoningBlock = %Reasoning
@onready var _body: PanelContainer = %Body
@onready var _text: RichTextLabel = %Text
@onready var _answer: MessageText = %Answer
@onready var _footer: HBoxContainer = %Footer
@onready var _note: Label = %Note
@onready var _copy: Button = %Copy
@onready var _edit: Button = %Edit
@onready var _retry: Button = %Retry


func _ready() -> void:
	_copy.pressed.connect(copy)
	_edit.pressed.connect(edit_requested.emit)
	_retry.pressed.connect(retry_requested.emit)
	for button: Button in [_copy, _edit, _retry] as Array[Button]:
		button.focus_entered.connect(part_focused.emit.bind(button))
	_reasoning.button_focused.connect(part_focused.emit)
	_answer.part_focused.connect(part_focused.emit)
	_answer.insert_requested.connect(insert_requested.emit)


## Begins with words that are not the author's own, in a quieter colour.
func append_quote(words: String) -> void:
	quote = words
	text += quote
	_show_as_markdown(false)
	_text.push_color(_note.get_theme_color(&"font_color"))
	_text.add_text(quote)
	_text.pop()


## Adds a piece of what the author thinks, which is no part of the text.
func append_reasoning(piece: String) -> void:
	_reasoning.append_text(piece)


## Shows what the author thought at another time.
func show_past_reasoning(thoughts: String) -> void:
	_reasoning.show_past(thoughts)


## Adds a piece at the end.
func append_text(piece: String) -> void:
	_reasoning.finish()
	text += piece
	if _answer.visible:
		_answer.append(piece)
	else:
		_text.add_text(piece)
	_fit_width()


## Nothing more comes.
func finish() -> void:
	_reasoning.finish()
	_answer.update()


## The blocks of code in it, from the top.
func code_blocks() -> Array[CodeBlock]:
	return _answer.code_blocks()


## So many of the history's oldest messages were left out.
func drop_oldest(count: int) -> void:
	if history_index >= 0:
		history_index = maxi(history_index - count, -1)
		is_out_of_view = history_index < 0


## Puts the whole message on the clipboard.
func copy() -> void:
	DisplayServer.clipboard_set(text)
	_copy.icon = DONE_ICON
	get_tree().create_timer(DONE_SECONDS).timeout.connect(_on_copied_seen)


func _set_author(value: Author) -> void:
	author = value
	var is_user: bool = author == Author.USER
	_body.theme_type_variation = &"UserBubble" if is_user else &"AssistantBubble"
	_body.size_flags_horizontal = SIZE_SHRINK_END if is_user else SIZE_FILL
	_footer.alignment = BoxContainer.ALIGNMENT_END if is_user else BoxContainer.ALIGNMENT_BEGIN
	_show_as_markdown(not is_user)
	_fit_width()


## What a user typed, and what goes on with it, is shown as it stands.
func _show_as_markdown(is_markdown: bool) -> void:
	_answer.visible = is_markdown
	_text.visible = not is_markdown


# A question is as wide as its text, up to a share of the column; an answer takes the column.
func _fit_width() -> void:
	if author != Author.USER or not is_node_ready():
		return
	var font: Font = _text.get_theme_font(&"normal_font")
	var font_size: int = _text.get_theme_font_size(&"normal_font_size")
	var wanted: float = (
		font.get_multiline_string_size(text, HORIZONTAL_ALIGNMENT_LEFT, -1, font_size).x
	)
	var padding: float = _body.get_theme_stylebox(&"panel").get_minimum_size().x
	var limit: float = maxf(available_width * USER_SHARE - padding, 0.0)
	_text.custom_minimum_size.x = minf(ceilf(wanted) + 1.0, limit)


func _on_copied_seen() -> void:
	_copy.icon = COPY_ICON
