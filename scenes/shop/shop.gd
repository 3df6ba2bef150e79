class_name Shop
extends Control
## A shop whose keeper is a language model: she answers in JSON, and the shop does what it says.

const ErrorBanner = preload("res://addons/llm/chat/error_banner.gd")
const ModelReport = preload("res://addons/llm/chat/model_report.gd")
const PromptBox = preload("res://addons/llm/chat/prompt_box.gd")

const SUGGESTIONS: PackedStringArray = [
	"Good morning!",
	"What is the potion good for?",
	"Can I have the sword for one gold?",
]
const GREETING: String = "Come in, come in! What can I do for you?"
const ADVICE: String = "./llm demo shop  brings a model of its own;  --model FILE  names another."

## The shopkeeper's model, unless the command line names another.
@export_file("*.gguf") var model_path: String = "res://.models/gemma-3-270m-q4_k_m.gguf"

var ledger: Ledger = Ledger.new()

@onready var _keeper: Shopkeeper = %Shopkeeper
@onready var _speech: Label = %Speech
@onready var _outcome: Label = %Outcome
@onready var _status: Label = %Status
@onready var _gold: Label = %Gold
@onready var _shelf: Goods = %Shelf
@onready var _bag: Goods = %Bag
@onready var _banner: ErrorBanner = %ErrorBanner
@onready var _suggestions: HFlowContainer = %Suggestions
@onready var _prompt: PromptBox = %PromptBox


func _ready() -> void:
	(_prompt.get_node("%Mode") as Control).hide()
	_keeper.spoke.connect(_on_spoke)
	_keeper.decided.connect(_on_decided)
	_keeper.fell_silent.connect(_on_fell_silent)
	_keeper.llm.worker_started.connect(_show_status)
	_keeper.llm.worker_failed.connect(_on_worker_failed)
	_keeper.llm.load_progress.connect(_on_load_progress)
	ledger.changed.connect(_show_ledger)
	_shelf.picked.connect(_on_shelf_picked)
	_bag.picked.connect(_on_bag_picked)
	_prompt.submitted.connect(say)
	_prompt.stop_requested.connect(_keeper.hush)
	_banner.retry_requested.connect(_load)
	for text: String in SUGGESTIONS:
		_suggestions.add_child(_chip(text))
	_speech.text = GREETING
	_show_ledger()
	_prompt.focus_input()
	var named: String = LaunchArguments.parse(OS.get_cmdline_user_args()).model_path
	_keeper.llm.model_path = model_path if named.is_empty() else named
	_load()


func _unhandled_key_input(event: InputEvent) -> void:
	if event.is_action_pressed(&"ui_cancel"):
		_keeper.hush()
		_banner.hide()
		get_viewport().set_input_as_handled()


## The player says [param text]; the shopkeeper lets herself be interrupted.
func say(text: String) -> void:
	_banner.hide()
	_outcome.text = "You:  " + text
	_speech.text = "…"
	_prompt.busy = true
	_keeper.listen(text, ledger)


func _load() -> void:
	_status.text = "Loading…"
	_keeper.llm.start_worker()


func _chip(text: String) -> Button:
	var chip: Button = Button.new()
	chip.theme_type_variation = &"ChipButton"
	chip.text = text
	chip.pressed.connect(say.bind(text))
	return chip


func _show_ledger() -> void:
	_gold.text = "%d gold" % ledger.gold
	_shelf.show_things(ledger.shelf)
	_bag.show_things(ledger.bag)


func _show_status() -> void:
	var stats: Dictionary = _keeper.llm.get_stats()
	_status.text = ModelReport.title(_keeper.llm.model_path)
	if stats["decode_tps"] > 0.0:
		_status.text += "  ·  %.0f tokens/s" % stats["decode_tps"]


func _on_spoke(text: String) -> void:
	_speech.text = text


func _on_decided(answer: KeeperAnswer) -> void:
	_prompt.busy = false
	_speech.text = answer.say
	var happened: String = ledger.carry_out(answer)
	if not happened.is_empty():
		_outcome.text = happened
	_shelf.highlight(answer.item)
	_show_status()


func _on_fell_silent(problem: String) -> void:
	_prompt.busy = false
	_speech.text = "…" if _speech.text == "…" else _speech.text + " …"
	# When the model did not load, the banner tells that already.
	if not problem.is_empty() and not _banner.visible:
		_banner.show_error(problem, "", false, false)


func _on_load_progress(fraction: float) -> void:
	_status.text = "Loading…  %d %%" % roundi(fraction * 100.0)


func _on_worker_failed(error: String) -> void:
	_status.text = "No model"
	var problem: String = ModelReport.shown_error(error, _keeper.llm.model_path)
	_banner.show_error(problem, ADVICE, true, false)


func _on_shelf_picked(item: String) -> void:
	say("I would like to buy the %s." % item)


func _on_bag_picked(item: String) -> void:
	say("Would you buy my %s?" % item)
