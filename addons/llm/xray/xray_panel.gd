class_name XRayPanel
extends VBoxContainer
## Shows how a model works while it answers: the tokens of prompt and answer, how each was chosen,
## what a layer's heads look at, what the layers take, and the pages of the key/value cache.
##
## Give it a node as [member llm], and ask that something. While the panel is visible the node's
## [member LLM.xray] is on.

## What the colours behind tokens say.
enum Look { PIECES, SURENESS, ATTENTION }

const NARROW: float = 640.0
const NOWHERE: Vector2i = Vector2i(-1, -1)

## The node that is looked into.
@export var llm: LLM:
	set = _set_llm

var look: Look = Look.PIECES:
	set = _set_look
## Whose heads are looked at.
var layer: int = -1:
	set = _set_layer
## The head of that layer; -1: the mean of all.
var head: int = -1:
	set = _set_head
## What has been told of the latest answer.
var record: XRayRecord = XRayRecord.new()

var _parts: Array = []  # of the model, once they have been measured
var _measured_model: String = ""
var _heads: Array = []  # of the attention that was told last
var _heads_at: Vector2i = NOWHERE  # its position and layer
var _is_asking: bool = false

@onready var tokens: XRayTokens = %Tokens
@onready var candidates: XRayCandidates = %Candidates
@onready var layers: XRayLayers = %Layers
@onready var pages: XRayPages = %Pages
@onready var _looks: Array[Button] = [%PiecesButton, %SurenessButton, %AttentionButton]
@onready var _layer_choice: OptionButton = %LayerChoice
@onready var _head_choice: OptionButton = %HeadChoice
@onready var _text_scroll: ScrollContainer = %TextScroll
@onready var _caption: Label = %Caption
@onready var _choice_title: Label = %ChoiceTitle
@onready var _pages_summary: Label = %PagesSummary
@onready var _lower: BoxContainer = %Lower


func _ready() -> void:
	var group: ButtonGroup = ButtonGroup.new()
	for index: int in _looks.size():
		_looks[index].button_group = group
		_looks[index].pressed.connect(_set_look.bind(index))
	tokens.describe = _describe
	tokens.selected.connect(select)
	layers.layer_selected.connect(_on_layer_selected)
	_layer_choice.item_selected.connect(
		func(index: int) -> void: layer = _layer_choice.get_item_id(index)
	)
	_head_choice.item_selected.connect(
		func(index: int) -> void: head = _head_choice.get_item_id(index) - 1
	)
	(%Measure as Button).pressed.connect(measure)
	_show_all()


func _notification(what: int) -> void:
	match what:
		NOTIFICATION_VISIBILITY_CHANGED, NOTIFICATION_ENTER_TREE, NOTIFICATION_EXIT_TREE:
			_turn(what != NOTIFICATION_EXIT_TREE and is_visible_in_tree())
		NOTIFICATION_THEME_CHANGED:
			if is_node_ready():
				_color()
		NOTIFICATION_RESIZED:
			if is_node_ready():
				_lower.vertical = size.x < NARROW


## Looks at the token with that number in prompt and answer together.
func select(position: int) -> void:
	tokens.selection = position
	_show_choice()
	_ask_attention()
	_scroll_to.call_deferred(position)


## Has the layers measured: see [method LLM.xray_layers].
func measure() -> void:
	if is_instance_valid(llm):
		llm.xray_layers()


func _set_llm(node: LLM) -> void:
	if is_instance_valid(llm):
		_turn(false)
		llm.xrayed.disconnect(_on_xrayed)
	llm = node
	if node != null:
		node.xrayed.connect(_on_xrayed)
		_turn(is_visible_in_tree())


func _turn(is_on: bool) -> void:
	if is_instance_valid(llm):
		llm.xray = is_on


func _set_look(value: Look) -> void:
	look = value
	if is_node_ready():
		_looks[value].button_pressed = true
		_color()
		_ask_attention()


func _set_layer(number: int) -> void:
	layer = number
	if is_node_ready():
		layers.selection = number
		_layer_choice.select(_layer_choice.get_item_index(number))
		_fill_heads()
		_ask_attention()


func _set_head(number: int) -> void:
	head = number
	if is_node_ready():
		_head_choice.select(_head_choice.get_item_index(number + 1))
		_color()


func _on_layer_selected(number: int) -> void:
	layer = number
	look = Look.ATTENTION


func _on_xrayed(kind: String, xray: Dictionary) -> void:
	match kind:
		"prompt":
			record.begin(xray)
			tokens.selection = -1
			_heads_at = NOWHERE
			_measure_once()
			_show_all()
		"token":
			var is_following: bool = tokens.selection in [-1, record.texts.size() - 1]
			record.add(xray)
			_show_texts()
			if is_following:
				select(record.texts.size() - 1)
		"attention":
			_is_asking = false
			_heads = xray["heads"]
			_heads_at = Vector2i(xray["position"], xray["layer"])
			_color()
			_ask_attention()
		"layers":
			if (xray["error"] as String).is_empty():
				_take_parts(xray["parts"])


## Each model's layers are looked at when it answers first: which have heads is only known then.
func _measure_once() -> void:
	var model: String = llm.get_stats()["model"]
	if model != _measured_model:
		_measured_model = model
		measure()


func _take_parts(parts: Array) -> void:
	var had: int = _layer_choice.item_count
	_parts = parts
	layers.show_parts(parts)
	_layer_choice.clear()
	for part: Dictionary in parts:
		if part["heads"] > 0:
			_layer_choice.add_item(part["name"], part["layer"])
	if _layer_choice.item_count != had or layer < 0:
		@warning_ignore("integer_division")
		layer = _layer_choice.get_item_id(_layer_choice.item_count / 2)
	else:
		layer = layer


func _fill_heads() -> void:
	_head_choice.clear()
	_head_choice.add_item("all heads", 0)
	for part: Dictionary in _parts:
		if part["layer"] == layer:
			for number: int in part["heads"]:
				_head_choice.add_item("head %d" % number, number + 1)
	head = head if head + 1 < _head_choice.item_count else -1


## Asks for what is to be seen and was not told yet; one question at a time.
func _ask_attention() -> void:
	if look != Look.ATTENTION or _is_asking or layer < 0 or not is_instance_valid(llm):
		return
	var from: int = record.looked_from(tokens.selection) if tokens.selection >= 0 else -1
	if from >= 0 and _heads_at != Vector2i(from, layer):
		_is_asking = true
		llm.xray_attention(from, layer)


## What the selected head looked at, by token; empty where it is not known.
func _shares() -> PackedFloat32Array:
	if _heads.is_empty() or _heads_at.x != record.looked_from(tokens.selection):
		return []
	if head >= 0 and head < _heads.size():
		return _heads[head]
	var mean: PackedFloat32Array = (_heads[0] as PackedFloat32Array).duplicate()
	for index: int in mean.size():
		for other: int in range(1, _heads.size()):
			mean[index] += _heads[other][index]
		mean[index] /= _heads.size()
	return mean


func _show_all() -> void:
	_show_texts()
	_show_choice()


func _show_texts() -> void:
	tokens.show_texts(record.texts, record.answer_from)
	pages.show_pages(record.pages)
	_pages_summary.text = pages.summary()
	layers.show_cells(record.pages.get("cells", 0))
	_color()


func _show_choice() -> void:
	var choice: Dictionary = record.choice(tokens.selection)
	candidates.show_choice(choice)
	_choice_title.text = "How a token is chosen"
	if not choice.is_empty():
		_choice_title.text = "How “%s” was chosen" % XRayRecord.shown(choice["text"])
	elif tokens.selection >= 0:
		var text: String = XRayRecord.shown(record.texts[tokens.selection])
		_choice_title.text = "“%s” was read, not chosen" % text
	_color()


func _color() -> void:
	var colors: PackedColorArray = []
	var shares: PackedFloat32Array = _shares() if look == Look.ATTENTION else PackedFloat32Array()
	var most: float = _largest(shares)
	for index: int in record.texts.size():
		var color: Color = Color.TRANSPARENT
		match look:
			Look.PIECES:
				color = XRayPalette.piece(tokens, index)
			Look.SURENESS when index >= record.answer_from:
				color = XRayPalette.sureness(tokens, record.probability(index))
			Look.ATTENTION when index < shares.size():
				color = XRayPalette.heat(tokens, sqrt(minf(shares[index] / most, 1.0)))
		colors.append(color)
	tokens.show_colors(colors)
	_caption.text = _legend(shares)


## The first token is left out: heads that look for nothing look there.
func _largest(shares: PackedFloat32Array) -> float:
	var most: float = 1e-6
	for index: int in range(1 if shares.size() > 1 else 0, shares.size()):
		most = maxf(most, shares[index])
	return most


func _legend(shares: PackedFloat32Array) -> String:
	var written: int = record.texts.size() - record.answer_from
	if record.texts.is_empty():
		return "Ask something: what the model reads and writes is shown here, token by token."
	match look:
		Look.PIECES:
			return (
				"%d tokens read, %d written. Each is a number to the model."
				% [record.answer_from, written]
			)
		Look.SURENESS:
			return "Written tokens: the greener, the likelier the model took them to be."
	if shares.is_empty():
		return "Select a token to see what was looked at when it was chosen."
	return (
		"The brighter, the more was looked at, to choose the selected token. %s of it went to %s."
		% [XRayCandidates.percent(shares[0]), XRayRecord.shown(record.texts[0])]
	)


func _describe(index: int) -> String:
	var lines: PackedStringArray = [
		"“%s”" % XRayRecord.shown(record.texts[index]),
		"token %d, at position %d" % [record.ids[index], index],
	]
	if index >= record.answer_from:
		lines.append("probability %s" % XRayCandidates.percent(record.probability(index)))
	var shares: PackedFloat32Array = _shares() if look == Look.ATTENTION else PackedFloat32Array()
	if index < shares.size():
		lines.append("attention %s" % XRayCandidates.percent(shares[index]))
	return "\n".join(lines)


func _scroll_to(position: int) -> void:
	var place: Rect2 = tokens.box_of(position)
	var top: int = int(place.position.y) - 4
	var bottom: int = int(place.end.y - _text_scroll.size.y) + 4
	_text_scroll.scroll_vertical = clampi(_text_scroll.scroll_vertical, bottom, maxi(top, bottom))
