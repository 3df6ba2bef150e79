class_name ChatSettings
extends RefCounted
## What can be set in the window: one table, which the panel, the command line and the remembered
## settings all read.

## A number, text over several lines, one of a few values, or yes or no.
enum Kind { TEXT, NUMBER, CHOICE, SWITCH }


## One property of the chat, of the [LLM] node's [LLMSampling] or of the node.
class Row:
	extends RefCounted
	## Name of the property.
	var name: StringName
	var kind: Kind
	var label: String
	## What it does, in a few words.
	var help: String
	## For a NUMBER: lowest, highest and step.
	var low: float
	var high: float
	var step: float
	## For a CHOICE: the values.
	var choices: Array
	## The model is loaded anew to apply it.
	var reloads: bool

	## The value in the property's own type, from what was typed or stored; null when it is not one.
	func parse(text: String) -> Variant:
		match kind:
			Kind.TEXT:
				return text
			Kind.SWITCH:
				return text == "true" if text in ["true", "false"] else null
			Kind.CHOICE:
				for choice: Variant in choices:
					if str(choice) == text:
						return choice
				return text.to_int() if text.is_valid_int() and choices[0] is int else null
		if not text.is_valid_float():
			return null
		return int(text) if step == floorf(step) else text.to_float()


## Every row, in the order of the panel.
static func rows() -> Array[Row]:
	return [
		_text(&"system_prompt", "System prompt", "Told to the model before the conversation"),
		_choice(
			&"preset",
			"Preset",
			["greedy", "precise", "balanced", "creative", "wild"],
			"Sets the values down to the seed",
			false,
		),
		_number(&"temperature", "Temperature", 0, 2, 0.05, "0 takes the likeliest token"),
		_number(&"top_k", "Top-k", 0, 1000, 1, "Keep the k likeliest tokens; 0 keeps all"),
		_number(&"top_p", "Top-p", 0, 1, 0.01, "Keep the likeliest that sum to this; 1 keeps all"),
		_number(&"min_p", "Min-p", 0, 1, 0.01, "Keep those of this share of the likeliest; 0: all"),
		_number(
			&"xtc_probability", "Surprise", 0, 1, 0.05, "How often the likeliest are passed over"
		),
		_number(&"repeat_penalty", "Repeat penalty", 0.5, 2, 0.05, "Above 1 avoids repetition"),
		_number(
			&"seed", "Seed", -1, 2147483647, 1, "Same seed, same text; -1 is another each time"
		),
		_number(&"max_tokens", "Longest answer", 0, 32768, 1, "In tokens; 0 is up to the context"),
		_switch(&"allow_thinking", "Thinking", "Models that reason do so before they answer"),
		_choice(
			&"context_length",
			"Context length",
			[512, 1024, 2048, 4096, 8192, 16384, 32768],
			"In tokens; more takes more memory",
		),
		_choice(
			&"executor",
			"Executor",
			["auto", "persistent", "dispatch", "reference"],
			"The GPU, or numpy on the CPU"
		),
		_switch(&"keeps_conversation", "Keep the chat", "It is there again at the next start"),
	]


## The row of that property, or null.
static func find(name: StringName) -> Row:
	for row: Row in rows():
		if row.name == name:
			return row
	return null


static func _row(name: StringName, kind: Kind, label: String, help: String) -> Row:
	var row: Row = Row.new()
	row.name = name
	row.kind = kind
	row.label = label
	row.help = help
	return row


static func _text(name: StringName, label: String, help: String) -> Row:
	return _row(name, Kind.TEXT, label, help)


static func _number(
	name: StringName, label: String, low: float, high: float, step: float, help: String
) -> Row:
	var row: Row = _row(name, Kind.NUMBER, label, help)
	row.low = low
	row.high = high
	row.step = step
	return row


static func _switch(name: StringName, label: String, help: String) -> Row:
	return _row(name, Kind.SWITCH, label, help)


static func _choice(
	name: StringName, label: String, choices: Array, help: String, reloads: bool = true
) -> Row:
	var row: Row = _row(name, Kind.CHOICE, label, help)
	row.choices = choices
	row.reloads = reloads
	return row
