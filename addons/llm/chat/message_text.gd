@tool
extends VBoxContainer
## A text in markdown that grows: prose to select, and code to copy.

## The keyboard's focus came to this [param control].
signal part_focused(control: Control)
## The user wants [param code] where the cursor of a script is.
signal insert_requested(code: String)

const CodeBlock = preload("code_block.gd")
const Markdown = preload("markdown.gd")

const CODE: PackedScene = preload("code_block.tscn")

## Code has a button to insert it. To be set before the first text.
var can_insert: bool = false

var _text: String = ""
var _last: int = 0  # the block that may still grow, and where it starts
var _last_start: int = 0
var _is_behind: bool = false  # what is shown


func _notification(what: int) -> void:
	if what == NOTIFICATION_THEME_CHANGED and is_node_ready() and not _text.is_empty():
		_show_again.call_deferred()


## Adds a piece at the end; all pieces of a frame are shown together.
func append(piece: String) -> void:
	_text += piece
	if not _is_behind:
		_is_behind = true
		update.call_deferred()


## Shows what has been added, now.
func update() -> void:
	if not _is_behind:
		return
	_is_behind = false
	var tail: Array[Markdown.Block] = Markdown.blocks(_text.substr(_last_start), _last_start)
	var first: int = _last
	for index: int in tail.size():
		_last = first + index
		_last_start = tail[index].start
		_show_block(_last, tail[index])


## The blocks of code, from the top.
func code_blocks() -> Array[CodeBlock]:
	var found: Array[CodeBlock] = []
	for child: Node in get_children():
		if child is CodeBlock:
			found.append(child)
	return found


func _show_again() -> void:
	_last = 0
	_last_start = 0
	_is_behind = true
	update()


## In the place of what was shown of it, where that was of the same kind.
func _show_block(index: int, block: Markdown.Block) -> void:
	if index < get_child_count() and (get_child(index) is CodeBlock) != block.is_code:
		var old: Node = get_child(index)
		remove_child(old)
		old.queue_free()
	if block.is_code:
		_code_at(index).show_code(block.text, block.language)
	else:
		var label: RichTextLabel = _label_at(index)
		var ink: Dictionary[String, Color] = {
			"code": label.get_theme_color(&"code_color", &"MessageText"),
			"code_back": label.get_theme_color(&"code_back_color", &"MessageText"),
			"link": label.get_theme_color(&"link_color", &"MessageText"),
			"faint": label.get_theme_color(&"faint_color", &"MessageText"),
		}
		var font_size: int = label.get_theme_font_size(&"normal_font_size")
		label.text = Markdown.bbcode(block.text, ink, font_size)


func _code_at(index: int) -> CodeBlock:
	if index < get_child_count():
		return get_child(index)
	var code: CodeBlock = CODE.instantiate()
	add_child(code)
	code.can_insert = can_insert
	code.insert_requested.connect(insert_requested.emit)
	code.part_focused.connect(part_focused.emit)
	return code


func _label_at(index: int) -> RichTextLabel:
	if index < get_child_count():
		return get_child(index)
	var label: RichTextLabel = RichTextLabel.new()
	label.bbcode_enabled = true
	label.focus_mode = Control.FOCUS_CLICK
	label.fit_content = true
	label.scroll_active = false
	label.shortcut_keys_enabled = true
	label.context_menu_enabled = true
	label.selection_enabled = true
	label.meta_clicked.connect(_open)
	add_child(label)
	return label


## Addresses of the web alone: a model's word is no reason to open anything else.
func _open(meta: Variant) -> void:
	var address: String = str(meta)
	if address.begins_with("https://") or address.begins_with("http://"):
		OS.shell_open(address)
