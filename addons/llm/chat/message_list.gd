@tool
extends Control
## The conversation, scrolled. It follows the end until the user scrolls up, and again from where
## the user comes back to the end.

## The user wants another answer in the place of the latest.
signal retry_requested
## The user wants to ask something else in the place of [param message].
signal edit_requested(message: MessageBubble)
## The user wants [param code] where the cursor of a script is.
signal insert_requested(code: String)

const CodeBlock = preload("code_block.gd")
const ContentColumn = preload("content_column.gd")
const MessageBubble = preload("message_bubble.gd")

## Pixels from the end that still count as the end.
const END_SLACK: float = 24.0
## How much of a message is seen that an edited one will replace.
const FADED: float = 0.4
const BUBBLE: PackedScene = preload("message_bubble.tscn")

## The newest text stays in sight while this is true.
var is_following: bool = true:
	set = _set_is_following

## Code of answers has a button to insert it.
var can_insert: bool = false

var _dropped: int = 0  # messages that the model does not see any more

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
	bubble.can_insert = can_insert
	bubble.insert_requested.connect(insert_requested.emit)
	bubble.part_focused.connect(_scroll.ensure_control_visible)
	bubble.retry_requested.connect(retry_requested.emit)
	bubble.edit_requested.connect(edit_requested.emit.bind(bubble))
	if not text.is_empty():
		bubble.append_text(text)
	is_following = true
	return bubble


## Takes out a message.
func remove(message: MessageBubble) -> void:
	_messages.remove_child(message)
	message.queue_free()


## Takes out every message.
func clear() -> void:
	for message: MessageBubble in _all():
		remove(message)
	_dropped = 0
	is_following = true


func message_count() -> int:
	return _messages.get_child_count()


## The message at the end, or null.
func latest() -> MessageBubble:
	return _messages.get_child(-1) if message_count() > 0 else null


## [param first] and the messages after it.
func from(first: MessageBubble) -> Array[MessageBubble]:
	return _all().slice(first.get_index())


## The latest question that can be edited, or null.
func latest_editable() -> MessageBubble:
	var found: MessageBubble = null
	for message: MessageBubble in _all():
		if message.can_edit:
			found = message
	return found


## To be called when a turn begins and when it is over: offers to answer the latest question again
## and to edit questions where [param is_idle].
func update(is_idle: bool) -> void:
	for message: MessageBubble in _all():
		var is_user: bool = message.author == MessageBubble.Author.USER
		message.can_retry = is_idle and not is_user and message == latest()
		message.can_edit = is_idle and is_user and message.history_index >= 0
	_show_view()


## Shows that [param edited] and what follows it will be replaced; null: nothing will.
func show_edited(edited: MessageBubble) -> void:
	for message: MessageBubble in _all():
		var is_faded: bool = edited != null and message.get_index() >= edited.get_index()
		message.modulate.a = FADED if is_faded else 1.0


## So many of the oldest messages of the history were left out, as it did not fit.
func drop_oldest(count: int) -> void:
	_dropped += count
	for message: MessageBubble in _all():
		message.drop_oldest(count)
	_show_view()


## Brings the keyboard's focus to the next block of code, or by [param step] -1 to the one before;
## first to the last of all. False where there is none.
func focus_code(step: int) -> bool:
	var blocks: Array[CodeBlock] = []
	for message: MessageBubble in _all():
		blocks.append_array(message.code_blocks())
	if blocks.is_empty():
		return false
	var at: int = blocks.size() if step < 0 else -1
	for index: int in blocks.size():
		if blocks[index].is_focused():
			at = index
	blocks[posmod(at + step, blocks.size())].focus()
	return true


## Goes to the newest text and follows it.
func scroll_to_end() -> void:
	is_following = true


## Moves by [param pages] screenfuls, up where negative.
func scroll_pages(pages: float) -> void:
	_bar.value += pages * _bar.page * 0.9


func _all() -> Array[MessageBubble]:
	var messages: Array[MessageBubble] = []
	messages.assign(_messages.get_children())
	return messages


# Says above the first message that the model sees how many it does not.
func _show_view() -> void:
	var messages: Array[MessageBubble] = _all()
	for message: MessageBubble in messages:
		message.heading = ""
	if _dropped == 0:
		return
	messages.reverse()
	var first: MessageBubble = null
	for message: MessageBubble in messages:
		if message.is_out_of_view:
			break
		if message.visible:
			first = message
	if first != null:
		first.heading = "The oldest %d messages are no longer in the model's view" % _dropped


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
	for bubble: MessageBubble in _all():
		bubble.available_width = _column.column_width()
