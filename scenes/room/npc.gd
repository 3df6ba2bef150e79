class_name Npc
extends VBoxContainer
## One of the people in the room: a figure, what it says, and a mind of its own.

## It has said [param line] and listens again; empty where nothing came. Not where it was stopped.
signal said(npc: Npc, line: String)
## Its model did not load, or its answer failed.
signal failed(problem: String)

## How it speaks, as an answer to the greeting; base models learn from it how a line looks.
const GREETING: String = "Traveller: Good evening!"

## Who it is, in the second person.
@export_multiline var character: String = ""
@export var first_line: String = ""
@export var figure: Texture2D
@export var sampling: LLMSampling

var _request: int = -1
var _line: String = ""

@onready var llm: LLM = %LLM
@onready var _speech: Label = %Speech
@onready var _bubble: Control = %Bubble
@onready var _figure: TextureRect = %Figure
@onready var _name: Button = %Name


func _ready() -> void:
	_figure.texture = figure
	_name.text = name
	_name.tooltip_text = "Speak to %s alone" % name
	llm.sampling = sampling
	llm.response_updated.connect(_on_response_updated)
	llm.response_ended.connect(_on_response_ended)
	llm.worker_failed.connect(failed.emit)


## Takes its place in [param setting], with nothing heard yet.
func enter(setting: String, model_path: String) -> void:
	llm.model_path = model_path
	llm.system_prompt = "%s %s You answer with one short sentence." % [setting, character]
	(
		llm
		. set_chat_history(
			[
				{"role": "user", "content": GREETING},
				{"role": "assistant", "content": first_line},
			]
		)
	)
	_bubble.modulate.a = 0.0


## Hears [param lines], each with its speaker's name before it, and answers. What it was saying
## ends.
func hear(lines: PackedStringArray) -> void:
	_line = ""
	_speech.text = "…"
	_bubble.modulate.a = 1.0
	_request = llm.ask("\n".join(lines))


## It says no more.
func hush() -> void:
	llm.stop_generation()


## Whether the player speaks to this one.
func is_addressed() -> bool:
	return _name.button_pressed


## The button that has the player speak to this one.
func address_button() -> Button:
	return _name


func _on_response_updated(id: int, piece: String) -> void:
	if id == _request:
		_line += piece
		_speech.text = _line.strip_edges()


func _on_response_ended(id: int, reason: String) -> void:
	if id != _request:
		return
	_request = -1
	if reason in ["length", "cancelled"]:
		_speech.text = _line.strip_edges() + "…"
	if reason == "error":
		failed.emit(llm.get_last_error())
	if reason != "cancelled":
		said.emit(self, _line.strip_edges())
