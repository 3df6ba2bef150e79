@tool
extends Window
## The manager of models in a window of the editor's.

const MANAGER: PackedScene = preload("../model_manager.tscn")

const SIZE: Vector2i = Vector2i(960, 600)
const MARGIN: int = 10

var _back: Panel = Panel.new()


func _init() -> void:
	title = "Language Models"
	visible = false
	_back.set_anchors_and_offsets_preset(Control.PRESET_FULL_RECT)
	add_child(_back)
	var manager: ModelManager = MANAGER.instantiate()
	_back.add_child(manager)
	close_requested.connect(queue_free)


func _ready() -> void:
	var margin: int = roundi(MARGIN * EditorInterface.get_editor_scale())
	for manager: Control in _back.get_children():
		manager.set_anchors_and_offsets_preset(
			Control.PRESET_FULL_RECT, Control.PRESET_MODE_MINSIZE, margin
		)
	_take_theme()
	popup_centered_clamped(Vector2i(Vector2(SIZE) * EditorInterface.get_editor_scale()), 0.9)


func _notification(what: int) -> void:
	if what == NOTIFICATION_THEME_CHANGED and is_node_ready():
		_take_theme()


func _shortcut_input(event: InputEvent) -> void:
	if event.is_action_pressed(&"ui_cancel"):
		queue_free()


## What docks lie on.
func _take_theme() -> void:
	_back.add_theme_stylebox_override(&"panel", get_theme_stylebox(&"panel", &"TabContainer"))
