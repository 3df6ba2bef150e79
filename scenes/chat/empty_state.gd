class_name EmptyState
extends VBoxContainer
## What there is to see before the first message: what the model is, and how to begin.

## The user picked one of the suggestions.
signal suggestion_chosen(text: String)
## The user wants to pick a model file.
signal open_requested

const ModelReport = preload("res://addons/llm/chat/model_report.gd")

const BASE_SUGGESTIONS: PackedStringArray = [
	"The quick brown fox jumps over",
	"Once upon a time, in a small village by the sea,",
	"The capital of France is",
]
const CHAT_SUGGESTIONS: PackedStringArray = [
	"What can you help me with?",
	"Tell me a short story about a dragon.",
	"What is a compute shader?",
]

@onready var _title: Label = %Title
@onready var _text: Label = %Text
@onready var _suggestions: VBoxContainer = %Suggestions
@onready var _open: Button = %Open


func _ready() -> void:
	_open.pressed.connect(open_requested.emit)


## Shows what fits the model at [param path], which [param is_usable] if it is or will be loaded;
## [param is_chat_model] if it answers, and does not go on with a text.
func show_model(path: String, is_usable: bool, is_chat_model: bool) -> void:
	_open.visible = not is_usable
	if path.is_empty():
		_show("No model is open", "Open a GGUF file, or drop one onto this window.", [])
	elif not is_usable:
		_show(ModelReport.title(path), "This model is not loaded.", [])
	elif is_chat_model:
		_show(ModelReport.title(path), "Ask it something.", CHAT_SUGGESTIONS)
	else:
		var text: String = "A base model: it continues text, and was not trained to chat."
		_show(ModelReport.title(path), text, BASE_SUGGESTIONS)


func _show(title: String, text: String, suggestions: PackedStringArray) -> void:
	_title.text = title
	_text.text = text
	for child: Node in _suggestions.get_children():
		_suggestions.remove_child(child)
		child.queue_free()
	for suggestion: String in suggestions:
		var chip: Button = Button.new()
		chip.theme_type_variation = &"ChipButton"
		chip.text = suggestion
		chip.clip_text = true
		chip.text_overrun_behavior = TextServer.OVERRUN_TRIM_ELLIPSIS
		chip.pressed.connect(suggestion_chosen.emit.bind(suggestion))
		_suggestions.add_child(chip)
