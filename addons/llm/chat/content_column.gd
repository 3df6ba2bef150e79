@tool
extends Container
## Keeps its children in a centred column that grows with the window up to a width that reads well.

## Widest the column gets, in pixels at scale 1.
@export var max_width: float = 760.0
## Space kept free at the left and the right of the column.
@export var margin: float = 16.0


func _notification(what: int) -> void:
	if what == NOTIFICATION_SORT_CHILDREN:
		var width: float = column_width()
		var left: float = floorf((size.x - width) / 2.0)
		for child: Node in get_children():
			var control: Control = child as Control
			if control != null and control.visible:
				fit_child_in_rect(control, Rect2(left, 0.0, width, size.y))


# The width is free to shrink: what is inside wraps or clips.
func _get_minimum_size() -> Vector2:
	var height: float = 0.0
	for child: Node in get_children():
		var control: Control = child as Control
		if control != null and control.visible:
			height = maxf(height, control.get_combined_minimum_size().y)
	return Vector2(0.0, height)


## The width of the column now.
func column_width() -> float:
	return clampf(size.x - 2.0 * margin, 0.0, max_width)
