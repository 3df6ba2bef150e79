class_name Tour
extends Control
## How a language model answers: a guided tour, step by step, of a model at work.

const ErrorBanner = preload("res://addons/llm/chat/error_banner.gd")
const ModelReport = preload("res://addons/llm/chat/model_report.gd")
const PromptBox = preload("res://addons/llm/chat/prompt_box.gd")

const LONGER: int = 28  # tokens
const NARROW: float = 760.0
const ADVICE: String = "./llm demo tour  brings a model of its own;  --model FILE  names another."

@export var steps: Array[TourStep] = []
## The beginning of a text, which the model goes on with.
@export_multiline var story: String = ""
## The model that is looked into, unless the command line names another.
@export_file("*.gguf") var model_path: String = "res://.models/gemma-3-270m-q4_k_m.gguf"

var step_number: int = -1

var _facts: Dictionary[String, String] = {}
var _finder: HeadFinder = null  # a local one would leak where the tour is left meanwhile
var _best_head: Vector2i = Vector2i(-1, -1)

@onready var llm: LLM = %LLM
@onready var panel: XRayPanel = %XRayPanel
@onready var _columns: BoxContainer = %Columns
@onready var _place: Label = %Place
@onready var _title: Label = %Title
@onready var _text: Label = %Text
@onready var _back: Button = %Back
@onready var _next: Button = %Next
@onready var _status: Label = %Status
@onready var _banner: ErrorBanner = %ErrorBanner
@onready var _prompt: PromptBox = %PromptBox


func _ready() -> void:
	var named: String = LaunchArguments.parse(OS.get_cmdline_user_args()).model_path
	llm.model_path = model_path if named.is_empty() else named
	llm.load_progress.connect(_on_load_progress)
	llm.worker_failed.connect(_on_worker_failed)
	llm.response_ended.connect(_on_response_ended)
	_back.pressed.connect(func() -> void: go_to(step_number - 1))
	_next.pressed.connect(func() -> void: go_to(step_number + 1))
	_prompt.submitted.connect(_write)
	_prompt.stop_requested.connect(llm.stop_generation)
	_prompt.continues_text = true
	(_prompt.get_node("%Mode") as Control).hide()
	_banner.retry_requested.connect(_begin)
	resized.connect(_on_resized)
	_on_resized()
	_begin()


func _unhandled_key_input(event: InputEvent) -> void:
	if event.is_action_pressed(&"ui_page_down"):
		go_to(step_number + 1)
	elif event.is_action_pressed(&"ui_page_up"):
		go_to(step_number - 1)
	elif event.is_action_pressed(&"ui_cancel"):
		llm.stop_generation()
		_banner.hide()
	else:
		return
	get_viewport().set_input_as_handled()


## To a stop of the tour, from 0; nothing where there is none, or before the model has answered.
func go_to(number: int) -> void:
	if number < 0 or number >= steps.size() or _facts.is_empty():
		return
	step_number = number
	var step: TourStep = steps[number]
	var is_last: bool = step.action == TourStep.Action.LET_WRITE
	_place.text = "%d of %d" % [number + 1, steps.size()]
	_title.text = step.title
	_text.text = step.text.format(_facts)
	_back.disabled = number == 0
	_next.visible = not is_last
	_prompt.visible = is_last
	panel.show_only(step.parts)
	panel.tokens.shows_numbers = step.numbers
	panel.candidates.stages_shown = step.stages
	if step.look == XRayPanel.Look.ATTENTION and _best_head.x >= 0:
		panel.layer = _best_head.x
		panel.head = _best_head.y
	panel.look = step.look
	if step.action == TourStep.Action.GO_ON and not llm.is_answering() and _has_one_token():
		_write(story)
	elif not is_last:
		panel.select(panel.record.answer_from)
	if is_last:
		_prompt.focus_input()
	else:
		_next.grab_focus()


## The first token of an answer, and all that is to be said of it.
func _begin() -> void:
	_status.text = "Loading…"
	_show_waiting()
	llm.max_tokens = 1
	llm.complete(story)
	await llm.response_ended
	if llm.get_end_reason() == "error":
		return
	while panel.is_measuring:
		await llm.xrayed
	await _look_into()
	_status.text = ModelReport.title(llm.model_path)
	go_to(0)


func _show_waiting() -> void:
	_title.text = "How a language model answers"
	_text.text = "A moment: the model is being loaded."
	_back.disabled = true
	panel.show_only([] as Array[StringName])
	_prompt.hide()


func _write(text: String) -> void:
	_banner.hide()
	_prompt.busy = true
	llm.max_tokens = LONGER
	llm.complete(text)


func _has_one_token() -> bool:
	return panel.record.texts.size() <= panel.record.answer_from + 1


## What is said of the text that is shown.
func _look_into() -> void:
	var from: int = panel.record.answer_from - 1
	_finder = HeadFinder.new(llm, from, _attentive_layers())
	while not _finder.is_done():
		await llm.xrayed
	_best_head = _finder.best
	var choice: Dictionary = panel.record.choice(panel.record.answer_from)
	if not choice.is_empty():  # another has not begun meanwhile
		_facts = _find_facts(choice)


func _attentive_layers() -> Array[int]:
	var found: Array[int] = []
	for part: Dictionary in panel.parts:
		if part["heads"] > 0:
			found.append(part["layer"])
	return found


func _find_facts(choice: Dictionary) -> Dictionary[String, String]:
	var likeliest: Dictionary = choice["candidates"][0]
	for candidate: Dictionary in choice["candidates"]:
		if candidate["probabilities"][0] > likeliest["probabilities"][0]:
			likeliest = candidate
	var heads: int = 0
	var seconds: float = 0.0
	var cell: int = 0
	var layers: int = 0
	for part: Dictionary in panel.parts:
		heads = maxi(heads, part["heads"])
		seconds += part["seconds"]
		cell += part["cell_bytes"]
		layers += int(part["layer"] >= 0)
	return {
		"read": str(panel.record.answer_from),
		"vocabulary": XRayCandidates.grouped(choice["stages"][0]["left"]),
		"layers": str(layers),
		"heads": str(heads),
		"layer": str(_best_head.x),
		"head": str(_best_head.y),
		"time": XRayLayers.milliseconds(seconds),
		"likeliest": XRayRecord.quoted(likeliest["text"]),
		"percent": XRayCandidates.percent(likeliest["probabilities"][0]),
		"chosen": XRayRecord.quoted(choice["text"]),
		"cell": XRayLayers.megabytes(cell),
		"page": str(choice["pages"]["page_cells"]),
	}


## In a narrow window all is below one another and scrolls together.
func _on_resized() -> void:
	_columns.vertical = size.x < NARROW
	panel.vertical_scroll_mode = (
		ScrollContainer.SCROLL_MODE_DISABLED
		if _columns.vertical
		else ScrollContainer.SCROLL_MODE_AUTO
	)


func _on_load_progress(fraction: float) -> void:
	_status.text = "Loading…  %d %%" % roundi(fraction * 100.0)


func _on_worker_failed(error: String) -> void:
	_status.text = "No model"
	_banner.show_error(ModelReport.shown_error(error, llm.model_path), ADVICE, true, false)


func _on_response_ended(_id: int, reason: String) -> void:
	_prompt.busy = false
	if reason == "error" and not _banner.visible:
		_banner.show_error(llm.get_last_error(), "", false, false)
	elif reason != "error" and step_number >= 0:
		_look_into()
