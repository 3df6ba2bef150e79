@tool
extends PanelContainer
## Code in an answer: in colours, to be copied, and to be inserted into a script where there is one.

## The keyboard's focus came to this [param control].
signal part_focused(control: Control)
## The user wants [param code] where the cursor of a script is.
signal insert_requested(code: String)

const COPY_ICON: Texture2D = preload("icons/copy.svg")
const DONE_ICON: Texture2D = preload("icons/done.svg")
const DONE_SECONDS: float = 1.5
## Languages whose comments begin with two slashes; in others that is a hash.
const SLASHES: PackedStringArray = [
	"c",
	"cpp",
	"c++",
	"cs",
	"csharp",
	"gdshader",
	"glsl",
	"go",
	"java",
	"javascript",
	"js",
	"json",
	"rust",
	"rs",
	"swift",
	"ts",
	"typescript",
]
const WORDS: String = (
	"and as assert async await bool break case catch char class class_name const continue def do "
	+ "double elif else enum export extends extern false final finally float for from func fn "
	+ "function global if impl import in int is lambda let match mut namespace new nil none None "
	+ "not null onready or out override pass preload private protected public raise return self "
	+ "setget signal sizeof static string struct super switch template this throw true True False "
	+ "try type typedef uniform union unsigned using var varying void when while with yield"
)

## There is a button to insert it.
var can_insert: bool = false:
	set(value):
		can_insert = value
		_insert.visible = value
## As it is inserted and copied.
var code: String:
	get:
		return _code.text

var _language: String = ""

@onready var _title: Label = %Language
@onready var _insert: Button = %Insert
@onready var _copy: Button = %Copy
@onready var _code: TextEdit = %Code


func _ready() -> void:
	_copy.pressed.connect(copy)
	_insert.pressed.connect(insert)
	for control: Control in [_copy, _insert, _code] as Array[Control]:
		control.focus_entered.connect(part_focused.emit.bind(control))
	_code.gui_input.connect(_on_code_gui_input)


func _notification(what: int) -> void:
	if what == NOTIFICATION_THEME_CHANGED and is_node_ready():
		_color()


## Shows it, all of it or what has come.
func show_code(text: String, language: String) -> void:
	if language != _language or _code.syntax_highlighter == null:
		_language = language
		_title.text = language
		_color()
	_code.text = text


## Puts it on the clipboard.
func copy() -> void:
	DisplayServer.clipboard_set(code)
	_copy.icon = DONE_ICON
	get_tree().create_timer(DONE_SECONDS).timeout.connect(func() -> void: _copy.icon = COPY_ICON)


func insert() -> void:
	insert_requested.emit(code)


## Brings the keyboard's focus here.
func focus() -> void:
	_code.grab_focus()


func is_focused() -> bool:
	return _code.has_focus() or _copy.has_focus() or _insert.has_focus()


## Without a selection, the keys for copying mean all of it.
func _on_code_gui_input(event: InputEvent) -> void:
	if event.is_action_pressed(&"ui_copy") and not _code.has_selection():
		copy()
	elif event.is_action_pressed(&"ui_text_submit") and can_insert:
		insert()
	else:
		return
	_code.accept_event()


func _color() -> void:
	var colors: CodeHighlighter = CodeHighlighter.new()
	colors.number_color = _code.get_theme_color(&"number_color")
	colors.symbol_color = _code.get_theme_color(&"symbol_color")
	colors.function_color = _code.get_theme_color(&"function_color")
	colors.member_variable_color = _code.get_theme_color(&"font_readonly_color")
	for word: String in WORDS.split(" "):
		colors.add_keyword_color(word, _code.get_theme_color(&"keyword_color"))
	for quote: String in ['"', "'"]:
		colors.add_color_region(quote, quote, _code.get_theme_color(&"string_color"))
	var mark: String = "//" if _language.to_lower() in SLASHES else "#"
	colors.add_color_region(mark, "", _code.get_theme_color(&"comment_color"), true)
	_code.syntax_highlighter = colors
