class_name Room
extends Control
## Four people by the fire of an inn, each a model's conversation of its own, talking at once.

const ErrorBanner = preload("res://addons/llm/chat/error_banner.gd")
const ModelReport = preload("res://addons/llm/chat/model_report.gd")
const PromptBox = preload("res://addons/llm/chat/prompt_box.gd")

const SETTING: String = """\
Four people sit by the fire of an inn: Bera keeps the inn, Odo is a smith, Lin is a bard, and Tam \
is a guard. A traveller comes in."""
## What the button has the traveller say, by turns.
const TOPICS: PackedStringArray = [
	"What happened here last night?",
	"Who knows a good story?",
	"Is the road through the forest safe?",
	"What do you wish for?",
]
const ADVICE: String = "./llm demo room  brings a model of its own;  --model FILE  names another."
const FRAMES_A_SECOND: int = 60

## The model of all four, unless the command line names another.
@export_file("*.gguf") var model_path: String = "res://.models/gemma-3-270m-q4_k_m.gguf"

var talk: Talk

var _people: Array[Npc] = []
var _topics_used: int = 0
var _max_fps_before: int = 0
var _was_saving_power: bool = false

@onready var _status: Label = %Status
@onready var _heard: Label = %Heard
@onready var _talk_button: Button = %TalkButton
@onready var _budget: HSlider = %Budget
@onready var _budget_label: Label = %BudgetLabel
@onready var _banner: ErrorBanner = %ErrorBanner
@onready var _prompt: PromptBox = %PromptBox


func _ready() -> void:
	(_prompt.get_node("%Mode") as Control).hide()
	var named: String = LaunchArguments.parse(OS.get_cmdline_user_args()).model_path
	if not named.is_empty():
		model_path = named
	var alone: ButtonGroup = ButtonGroup.new()
	alone.allow_unpress = true
	for npc: Npc in %People.get_children():
		_people.append(npc)
		npc.address_button().button_group = alone
		npc.failed.connect(_on_failed)
		npc.enter(SETTING, model_path)
	talk = Talk.new(_people)
	talk.changed.connect(_on_talk_changed)
	_people[0].llm.load_progress.connect(_on_load_progress)
	_people[0].llm.worker_started.connect(_show_status)
	_talk_button.pressed.connect(_on_talk_button_pressed)
	_budget.value_changed.connect(_on_budget_changed)
	_prompt.submitted.connect(say)
	_prompt.stop_requested.connect(talk.stop)
	_banner.retry_requested.connect(_load)
	(%StatusTimer as Timer).timeout.connect(_show_status)
	_on_budget_changed(_budget.value)
	_on_talk_changed()
	_prompt.focus_input()
	_load()


## A game draws every frame; the project's other windows only what changes.
func _enter_tree() -> void:
	_max_fps_before = Engine.max_fps
	_was_saving_power = OS.low_processor_usage_mode
	Engine.max_fps = FRAMES_A_SECOND
	OS.low_processor_usage_mode = false


func _exit_tree() -> void:
	Engine.max_fps = _max_fps_before
	OS.low_processor_usage_mode = _was_saving_power


func _unhandled_key_input(event: InputEvent) -> void:
	if event.is_action_pressed(&"ui_cancel"):
		talk.stop()
		_banner.hide()
		get_viewport().set_input_as_handled()


## The player says [param text], to the one whose name is pressed or else to all.
func say(text: String) -> void:
	_banner.hide()
	var addressed: Array[Npc] = _people.filter(func(npc: Npc) -> bool: return npc.is_addressed())
	var to: String = "all" if addressed.is_empty() else str(addressed[0].name)
	_heard.text = "You, to %s:  %s" % [to, text]
	talk.begin(text, _people if addressed.is_empty() else addressed)


func _load() -> void:
	_status.text = "Loading…"
	_people[0].llm.start_worker()


func _show_status() -> void:
	var stats: Dictionary = _people[0].llm.get_stats()
	if str(stats["model"]).is_empty():
		return
	_status.text = ModelReport.title(model_path)
	var speed: float = 0.0
	for npc: Npc in _people:
		if npc.llm.is_answering():
			speed += npc.llm.get_stats()["decode_tps"]
	if talk.round_number > 0:
		_status.text += (
			"  ·  round %d of %d  ·  %.0f tokens/s" % [talk.round_number, Talk.ROUNDS, speed]
		)


func _on_talk_changed() -> void:
	var is_quiet: bool = talk.round_number == 0
	_talk_button.text = "Let them talk" if is_quiet else "Stop"
	_prompt.busy = not is_quiet
	_show_status()


func _on_talk_button_pressed() -> void:
	if talk.round_number > 0:
		talk.stop()
		return
	say(TOPICS[_topics_used % TOPICS.size()])
	_topics_used += 1


func _on_budget_changed(milliseconds: float) -> void:
	for npc: Npc in _people:
		npc.llm.gpu_ms_per_frame = milliseconds
	_budget_label.text = (
		"GPU time a frame:  %s" % ("all" if milliseconds == 0.0 else "%.0f ms" % milliseconds)
	)


func _on_load_progress(fraction: float) -> void:
	_status.text = "Loading…  %d %%" % roundi(fraction * 100.0)


func _on_failed(error: String) -> void:
	talk.stop()
	var is_loaded: bool = not str(_people[0].llm.get_stats()["model"]).is_empty()
	if not is_loaded:
		_status.text = "No model"
	var problem: String = ModelReport.shown_error(error, model_path)
	_banner.show_error(problem, "" if is_loaded else ADVICE, not is_loaded, false)
