class_name MessageList
extends Control
## The conversation, scrolled. It follows the end until the user scrolls up, and again from where
## the user comes back to the end.

## Pixels from the end that still count as the end.
const END_SLACK: float = 24.0
const BUBBLE: PackedScene = preload("res://scenes/chat/message_bubble.tscn")

## The newest text stays in sight while this is true.
var is_following: bool = true:
	set = _set_is_following

@onready var _scroll: ScrollContainer = %Scroll
@onready var _column: ContentColumn = %Column
@onready var _messages: VBoxContainer = %Messages
@onready var _jump: Button = %JumpToEnd
@onready var _bar: VScrollBar = _scroll.get_v_scroll_bar()


func _ready() -> void:
	_bar.changed.connect(_on_bar_changed)
	_bar.value_changed.connect(_on_bar_value_changed)
	_column.resized.connect(_on_column_resized)
	_jump.pressed.connect(scroll_to_end)


## Adds a message at the end and goes there.
func add_message(author: MessageBubble.Author, text: String = "") -> MessageBubble:
	var bubble: MessageBubble = BUBBLE.instantiate()
	_messages.add_child(bubble)
	bubble.author = author
	bubble.available_width = _column.column_width()
	# Not the container's own follow_focus: that jumps when one clicks into a long text.
	bubble.button_focused.connect(_scroll.ensure_control_visible)
	if not text.is_empty():
		bubble.append_text(text)
	is_following = true
	return bubble


## Takes out the newest messages.
func remove_last(count: int) -> void:
	var first: int = maxi(message_count() - count, 0)
	for child: Node in _messages.get_children().slice(first):
		_messages.remove_child(child)
		child.queue_free()


## Takes out every message.
func clear() -> void:
	remove_last(message_count())
	is_following = true


func message_count() -> int:
	return _messages.get_child_count()


## Goes to the newest text and follows it.
func scroll_to_end() -> void:
	is_following = true


## Moves by [param pages] screenfuls, up where negative.
func scroll_pages(pages: float) -> void:
	_bar.value += pages * _bar.page * 0.9


func _set_is_following(value: bool) -> void:
	is_following = value
	_jump.visible = not value
	if value:
		_bar.value = _bar.max_value


func _on_bar_changed() -> void:
	if is_following:
		_bar.value = _bar.max_value


func _on_bar_value_changed(value: float) -> void:
	var is_at_end: bool = value + _bar.page >= _bar.max_value - END_SLACK
	if is_at_end != is_following:
		is_following = is_at_end


func _on_column_resized() -> void:
	for bubble: MessageBubble in _messages.get_children():
		bubble.available_width = _column.column_width()
