@tool
class_name ModelFactsTable
extends GridContainer
## What is known of a model file, as [signal LLMModelFiles.described] tells it: names and texts.

const NAME_ALPHA: float = 0.66


func _init() -> void:
	columns = 2
	add_theme_constant_override(&"h_separation", 16)


func clear() -> void:
	for child: Node in get_children():
		remove_child(child)
		child.queue_free()


## Shows the rows of [param facts], or its error.
func show_facts(facts: Dictionary) -> void:
	clear()
	if not (facts["error"] as String).is_empty():
		_add("problem", facts["error"])
		return
	for row: Array in facts["rows"]:
		_add(row[0], ModelRow.new(row[1]).short_path() if row[0] == "file" else row[1])


func _add(title: String, text: String) -> void:
	var name_label: Label = Label.new()
	name_label.text = title.replace("  ", "    ")
	name_label.modulate.a = NAME_ALPHA
	name_label.size_flags_vertical = Control.SIZE_SHRINK_BEGIN
	add_child(name_label)
	var value: Label = Label.new()
	value.text = text.strip_edges()
	value.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
	value.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	value.custom_minimum_size.x = 80.0
	add_child(value)
