@tool
extends PanelContainer
## Says what went wrong and what to do about it, above the prompt; stops nobody from going on.

## The user wants the failed thing to be tried again.
signal retry_requested
## The user wants to pick another model file.
signal open_requested

@onready var _problem: Label = %Problem
@onready var _advice: Label = %Advice
@onready var _retry: Button = %Retry
@onready var _open: Button = %Open
@onready var _dismiss: Button = %Dismiss


func _ready() -> void:
	_retry.pressed.connect(_on_retry_pressed)
	_open.pressed.connect(open_requested.emit)
	_dismiss.pressed.connect(hide)


## Shows [param problem], and [param advice] on what helps. The buttons are those that may help.
func show_error(
	problem: String, advice: String, can_retry: bool = false, can_open: bool = false
) -> void:
	_problem.text = problem
	_problem.tooltip_text = problem
	_advice.text = advice
	_retry.visible = can_retry
	_open.visible = can_open
	show()


func _on_retry_pressed() -> void:
	hide()
	retry_requested.emit()
