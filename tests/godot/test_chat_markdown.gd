extends "res://tests/godot/case.gd"
## Markdown on its way to the screen: blocks, what a label shows of them, and text that streams.

const Markdown = preload("res://addons/llm/chat/markdown.gd")
const CodeBlock = preload("res://addons/llm/chat/code_block.gd")
const MessageText = preload("res://addons/llm/chat/message_text.gd")

const INK: Dictionary[String, Color] = {
	"code": Color.RED, "code_back": Color.BLACK, "link": Color.BLUE, "faint": Color.GRAY
}
const ANSWER: String = """# Moving

Use `velocity` and **then** call:

```gdscript
func _physics_process(_delta: float) -> void:

	move_and_slide()  # [b]
```
1. That is all.
   - *Really*.

~~~
~~~~~~
| a | b |
| --- | --- |
| 1 | [2] |"""


func test_text_is_cut_at_fences() -> void:
	var found: Array = []
	for block: Markdown.Block in Markdown.blocks(ANSWER):
		found.append([block.is_code, block.language, block.text.length()])
		var begins: String = ANSWER.substr(block.start, 2)
		check_equal(begins in ["``", "~~"], block.is_code, "where a block begins: " + begins)
	check_equal(found.size(), 5, "blocks")
	check_equal(found[1].slice(0, 2), [true, "gdscript"], "code")
	check_equal(found[3], [true, "", 0], "a longer fence closes, too")
	var code: Markdown.Block = Markdown.blocks(ANSWER)[1]
	check(code.text.contains("void:\n\n\tmove_and_slide"), "lines of code stay")
	check(Markdown.blocks("```gd\nvar a\n")[0].is_code, "code that is still being written")


func test_what_a_label_shows() -> void:
	var cases: Dictionary[String, String] = {
		"plain [b]text[/b]": "plain [b]text[/b]",
		"**bold** and *soft* and ~~gone~~": "bold and soft and gone",
		"`a[0]` and snake_case_name": "a[0] and snake_case_name",
		"2 * 3 * 4": "2 * 3 * 4",
		"[docs](https://example.org) \\*": "docs *",
		"## A heading ##": "A heading",
		"- one\n  - two\n3. three": "• one\n\t◦ two\n3. three",
	}
	var label: RichTextLabel = RichTextLabel.new()
	label.bbcode_enabled = true
	add_child(label)
	for markdown: String in cases:
		label.text = Markdown.bbcode(markdown, INK, 16)
		check_equal(label.get_parsed_text(), cases[markdown], markdown)
	label.text = Markdown.bbcode("| a | b |\n| - | - |\n| 1 | [2] |", INK, 16)
	for cell: String in ["a", "b", "1", "[2]"]:
		check(label.get_parsed_text().contains(cell), "a table has " + cell)


func test_no_text_takes_long() -> void:
	for mark: String in ["`", "*", "_", "~~", "[", "[a](", "**a", "`*_", "\\", "#", "| "]:
		var began: int = Time.get_ticks_msec()
		Markdown.bbcode((mark + " ").repeat(1300) + "\n" + mark.repeat(3900), INK, 16)
		check(Time.get_ticks_msec() - began < 1000, "lines of %s" % mark)


func test_a_text_that_streams_ends_as_one_that_came_at_once() -> void:
	var at_once: MessageText = _shown([ANSWER])
	for size: int in [1, 3, 7]:
		var pieces: PackedStringArray = []
		for place: int in range(0, ANSWER.length(), size):
			pieces.append(ANSWER.substr(place, size))
		check_equal(_parts(_shown(pieces)), _parts(at_once), "in pieces of %d" % size)
	check_equal(at_once.code_blocks().size(), 2, "blocks of code")


func test_a_long_text_goes_on_in_another_label() -> void:
	var paragraph: String = "A word. ".repeat(40) + "\n\n"
	var text: MessageText = _shown([paragraph.repeat(20)])
	check(text.get_child_count() > 2, "there are several")
	for label: RichTextLabel in text.get_children():
		check(label.get_parsed_text().length() < 3000, "each is short")


func test_code_is_copied_and_inserted() -> void:
	var text: MessageText = MessageText.new()
	text.can_insert = true
	add_child(text)
	text.append("```gd\nvar a: int = 1\n```")
	text.update()
	var code: CodeBlock = text.code_blocks()[0]
	var inserted: PackedStringArray = []
	text.insert_requested.connect(func(words: String) -> void: inserted.append(words))
	(code.get_node("%Insert") as Button).pressed.emit()
	check_equal(inserted, PackedStringArray(["var a: int = 1"]), "inserted")
	code.copy()
	check_equal(DisplayServer.clipboard_get(), "var a: int = 1", "the clipboard")


func _shown(pieces: PackedStringArray) -> MessageText:
	var text: MessageText = MessageText.new()
	add_child(text)
	for piece: String in pieces:
		text.append(piece)
		text.update()
	return text


func _parts(text: MessageText) -> Array:
	var parts: Array = []
	for part: Control in text.get_children():
		var label: RichTextLabel = part as RichTextLabel
		parts.append((part as CodeBlock).code if label == null else label.get_parsed_text())
	return parts
