class_name MessageBubble
extends VBoxContainer
## One message. Text is added as it arrives, can be selected, and can be copied with the button.

## The keyboard's focus came to this [param button].
signal button_focused(button: Control)

enum Author { USER, ASSISTANT }

const COPY_ICON: Texture2D = preload("res://scenes/icons/copy.svg")
const DONE_ICON: Texture2D = preload("res://scenes/icons/done.svg")
const DONE_SECONDS: float = 1.5
## Widest a question gets, as a share of the column.
const USER_SHARE: float = 0.85

## Who wrote it. To be set before the first text.
var author: Author = Author.ASSISTANT:
	set = _set_author
## The message so far.
var text: String = ""
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

@onready var _body: PanelContainer = %Body
@onready var _text: RichTextLabel = %Text
@onready var _footer: HBoxContainer = %Footer
@onready var _note: Label = %Note
@onready var _copy: Button = %Copy


func _ready() -> void:
	_copy.pressed.connect(copy)
	_copy.focus_entered.connect(button_focused.emit.bind(_copy))


## Begins with words that are not the author's own, in a quieter colour.
func append_quote(quote: String) -> void:
	text += quote
	_text.push_color(_note.get_theme_color(&"font_color"))
	_text.add_text(quote)
	_text.pop()


## Adds a piece at the end.
func append_text(piece: String) -> void:
	text += piece
	_text.add_text(piece)
	_fit_width()


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
	_fit_width()


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
