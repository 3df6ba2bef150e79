class_name Goods
extends HFlowContainer
## Things side by side, each a button with its picture, on boards.

## The player picked [param item].
signal picked(item: String)

const ICONS: String = "res://scenes/shop/icons/%s.svg"
const BUTTON_SIZE: Vector2 = Vector2(92.0, 92.0)
const ICON_WIDTH: int = 46
const BOARD: Color = Color(0.36, 0.25, 0.17)
const BOARD_HEIGHT: float = 6.0

## What a thing costs stands below it, too.
@export var shows_prices: bool = false
## What stands here while there is nothing.
@export var emptiness: String = "Nothing"


func _ready() -> void:
	sort_children.connect(queue_redraw)


## Shows [param things], and how many there are of each.
func show_things(things: Dictionary[String, int]) -> void:
	var focused: Control = get_viewport().gui_get_focus_owner()
	var item_focused: StringName = focused.name if focused in get_children() else &""
	for child: Node in get_children():
		remove_child(child)
		child.queue_free()
	for item: String in things:
		_add_button(item, things[item])
		if item == item_focused:
			(get_node(item) as Control).grab_focus()
	if things.is_empty():
		var label: Label = Label.new()
		label.text = emptiness
		label.theme_type_variation = &"MutedLabel"
		add_child(label)


## Draws the eye to [param item] for a moment.
func highlight(item: String) -> void:
	var button: Control = get_node_or_null(item)
	if button != null:
		button.modulate = Color(1.7, 1.6, 1.2)
		button.create_tween().tween_property(button, "modulate", Color.WHITE, 1.5)


func _draw() -> void:
	var heights: Dictionary[float, bool] = {}
	for child: Node in get_children():
		if child is Button:
			heights[(child as Button).get_rect().end.y] = true
	for height: float in heights:
		draw_rect(Rect2(0.0, height, size.x, BOARD_HEIGHT), BOARD)


func _add_button(item: String, count: int) -> void:
	var button: Button = Button.new()
	button.name = item
	button.theme_type_variation = &"FlatButton"
	button.custom_minimum_size = BUTTON_SIZE
	button.icon = load(ICONS % item)
	button.add_theme_constant_override(&"icon_max_width", ICON_WIDTH)
	for state: String in ["normal", "hover", "pressed", "hover_pressed", "focus"]:
		button.add_theme_color_override("icon_%s_color" % state, Color.WHITE)
	button.icon_alignment = HORIZONTAL_ALIGNMENT_CENTER
	button.vertical_icon_alignment = VERTICAL_ALIGNMENT_TOP
	var amount: String = item if count == 1 else "%s × %d" % [item, count]
	button.text = "%s\n%d gold" % [amount, Ledger.WORTH[item]] if shows_prices else amount
	button.pressed.connect(picked.emit.bind(item))
	add_child(button)
