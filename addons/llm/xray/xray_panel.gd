@tool
class_name XRayPanel
extends ScrollContainer
## Shows how a model works while it answers: the tokens of prompt and answer, how each was chosen,
## what a layer's heads look at, what the layers take, and the pages of the key/value cache.
##
## Give it a node as [member llm], and ask that something. While the panel is visible the node's
## [member LLM.xray] is on.

## What the colours behind tokens say.
enum Look { PIECES, SURENESS, ENTROPY, ATTENTION }

const LOOKS: StringName = &"looks"
const TEXT: StringName = &"text"
const CHOICE: StringName = &"choice"
const HEADS: StringName = &"heads"
const LAYERS: StringName = &"layers"
const PAGES: StringName = &"pages"
const NARROW: float = 640.0
const OPEN_BITS: float = 8.0  # of entropy, and whatever is more is as red

## The node that is looked into. One panel a node: it turns its [member LLM.xray] on and off.
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
## Of the model, once they have been measured: see [signal LLM.xrayed].
var parts: Array = []
## Until they have been.
var is_measuring: bool = false

var _shown: Array[StringName] = [LOOKS, TEXT, CHOICE, HEADS, LAYERS, PAGES]
var _is_edited: bool = false  # in the editor, where it would be saved as it is
var _measured_model: String = ""
var _attention: XRayAttention = XRayAttention.new()
var _has_more: bool = false  # than is shown
var _shares: PackedFloat32Array = []  # of the head that is looked at, from the selected token
var _largest_share: float = 1.0

@onready var tokens: XRayTokens = %Tokens
@onready var candidates: XRayCandidates = %Candidates
@onready var heads: XRayHeads = %Heads
@onready var layers: XRayLayers = %Layers
@onready var pages: XRayPages = %Pages
@onready
var _looks: Array[Button] = [%PiecesButton, %SurenessButton, %EntropyButton, %AttentionButton]
@onready var _layer_choice: OptionButton = %LayerChoice
@onready var _head_choice: OptionButton = %HeadChoice
@onready var _text_scroll: ScrollContainer = %TextScroll
@onready var _caption: Label = %Caption
@onready var _choice_title: Label = %ChoiceTitle
@onready var _heads_title: Label = %HeadsTitle
@onready var _pages_summary: Label = %PagesSummary


func _ready() -> void:
	if _is_edited:
		return
	var group: ButtonGroup = ButtonGroup.new()
	for index: int in _looks.size():
		_looks[index].button_group = group
		_looks[index].pressed.connect(_set_look.bind(index))
	tokens.describe = _describe
	tokens.color_of = _color_of
	tokens.selected.connect(select)
	heads.head_selected.connect(_set_head)
	layers.layer_selected.connect(_on_layer_selected)
	_layer_choice.item_selected.connect(
		func(index: int) -> void: layer = _layer_choice.get_item_id(index)
	)
	_head_choice.item_selected.connect(
		func(index: int) -> void: head = _head_choice.get_item_id(index) - 1
	)
	(%Measure as Button).pressed.connect(measure)
	_arrange()
	_show_text()
	_show_choice()
	_show_attention()


func _notification(what: int) -> void:
	match what:
		NOTIFICATION_VISIBILITY_CHANGED, NOTIFICATION_ENTER_TREE, NOTIFICATION_EXIT_TREE:
			_is_edited = _is_edited or is_part_of_edited_scene()
			_turn(what != NOTIFICATION_EXIT_TREE and is_visible_in_tree())
		NOTIFICATION_RESIZED:
			if _is_live():
				_arrange()


## Looks at the token with that number in prompt and answer together; nothing where there is none.
func select(position: int) -> void:
	if position < 0 or position >= record.texts.size():
		return
	tokens.selection = position
	_show_choice()
	_show_attention()
	_scroll_to.call_deferred(position)


## Shows these of its parts, LOOKS to PAGES, and hides the others. Heads are shown in the place of
## the choice while [member look] is at attention.
func show_only(names: Array[StringName]) -> void:
	_shown = names
	_arrange()


## Has the layers measured: see [method LLM.xray_layers].
func measure() -> void:
	if is_instance_valid(llm):
		is_measuring = true
		llm.xray_layers()


func _set_llm(node: LLM) -> void:
	if is_instance_valid(llm):
		_turn(false)
		llm.xrayed.disconnect(_on_xrayed)
	llm = node
	_attention.forget()
	if node != null:
		node.xrayed.connect(_on_xrayed)
		_turn(is_visible_in_tree())


func _is_live() -> bool:
	return is_node_ready() and not _is_edited


func _turn(is_on: bool) -> void:
	if is_instance_valid(llm) and is_inside_tree() and not _is_edited:
		llm.xray = is_on


func _set_look(value: Look) -> void:
	look = value
	if _is_live():
		_looks[value].button_pressed = true
		_arrange()
		_show_attention()


func _set_layer(number: int) -> void:
	layer = number
	if _is_live():
		layers.selection = number
		_layer_choice.select(_layer_choice.get_item_index(number))
		_fill_head_choice()
		_show_attention()


func _set_head(number: int) -> void:
	head = number
	if _is_live():
		_head_choice.select(_head_choice.get_item_index(number + 1))
		_show_attention()


func _on_layer_selected(number: int) -> void:
	layer = number
	look = Look.ATTENTION


func _on_xrayed(kind: String, xray: Dictionary) -> void:
	match kind:
		"prompt":
			record.begin(xray)
			_attention.forget()
			_measure_once()
			tokens.selection = -1
			_show_text()
			_show_choice()
			_show_attention()
		"token":
			var is_latest: bool = tokens.selection in [-1, record.texts.size() - 1]
			if record.add(xray):
				tokens.add(xray["text"], xray["token"])
				if not _has_more:
					_has_more = true
					_show_latest.call_deferred(is_latest)
		"attention":
			_attention.take(xray)
			_show_attention()
		"layers":
			_take_parts(xray["parts"])


## Of tokens that come in one frame the last is shown, and selected if that before them was.
func _show_latest(was_latest: bool) -> void:
	_has_more = false
	_show_pages()
	if was_latest:
		select(record.texts.size() - 1)
	else:
		_show_caption()


## Each model's layers are looked at when it answers first: which have heads is only known then.
func _measure_once() -> void:
	var model: String = llm.get_stats()["model"]
	if model != _measured_model:
		_measured_model = model
		measure()


func _take_parts(measured: Array) -> void:
	is_measuring = false
	parts = measured
	layers.show_parts(parts)
	_show_pages()
	_layer_choice.clear()
	for part: Dictionary in parts:
		if part["heads"] > 0:
			_layer_choice.add_item(part["name"], part["layer"])
	var count: int = _layer_choice.item_count
	if count == 0:
		layer = -1
	elif _layer_choice.get_item_index(layer) < 0:
		@warning_ignore("integer_division")
		layer = _layer_choice.get_item_id(count / 2)
	else:
		layer = layer
	_arrange()


func _fill_head_choice() -> void:
	_head_choice.clear()
	_head_choice.add_item("all heads", 0)
	for part: Dictionary in parts:
		if part["layer"] == layer:
			for number: int in part["heads"]:
				_head_choice.add_item("head %d" % number, number + 1)
	head = head if head + 1 < _head_choice.item_count else -1


func _arrange() -> void:
	var is_at_heads: bool = look == Look.ATTENTION
	var has_heads: bool = is_at_heads and HEADS in _shown
	var is_narrow: bool = size.x < NARROW
	(%Looks as Control).visible = LOOKS in _shown
	_layer_choice.visible = is_at_heads and layer >= 0
	_head_choice.visible = is_at_heads and layer >= 0
	_text_scroll.visible = TEXT in _shown
	_caption.visible = TEXT in _shown
	(%Choice as Control).visible = CHOICE in _shown and not has_heads
	(%HeadsPart as Control).visible = has_heads
	(%LayersPart as Control).visible = LAYERS in _shown
	(%PagesPart as Control).visible = PAGES in _shown
	(%Side as Control).visible = LAYERS in _shown or PAGES in _shown
	var has_lower: bool = (%Side as Control).visible or has_heads or CHOICE in _shown
	(%Lower as BoxContainer).visible = has_lower
	(%Lower as BoxContainer).vertical = is_narrow
	# Below one another they have all the height that they need, and the panel scrolls as a whole.
	for part: ScrollContainer in [%ChoiceScroll, %HeadsScroll] as Array[ScrollContainer]:
		part.vertical_scroll_mode = SCROLL_MODE_DISABLED if is_narrow else SCROLL_MODE_AUTO


func _show_text() -> void:
	tokens.begin(record.texts, record.ids, record.answer_from)
	_show_pages()


func _show_pages() -> void:
	pages.show_pages(record.pages)
	layers.show_cells(record.pages.get("cells", 0))
	_pages_summary.text = pages.summary()
	if layers.cache_bytes() > 0:
		_pages_summary.text += "  ·  %s" % XRayLayers.megabytes(layers.cache_bytes())


func _show_choice() -> void:
	var choice: Dictionary = record.choice(tokens.selection)
	candidates.show_choice(choice)
	_choice_title.text = "How a token is chosen"
	if not choice.is_empty():
		_choice_title.text = "How %s was chosen" % XRayRecord.quoted(choice["text"])
	elif tokens.selection >= 0:
		var text: String = record.texts[tokens.selection]
		_choice_title.text = "%s was read, not chosen" % XRayRecord.quoted(text)


## What is known of the selected token, layer and head. The rest is asked for.
func _show_attention() -> void:
	var from: int = record.looked_from(tokens.selection) if tokens.selection >= 0 else -1
	if look == Look.ATTENTION and is_instance_valid(llm):
		_attention.ask(llm, from, layer)
	_shares = _attention.shares(from, layer, head)
	_largest_share = maxf(XRayAttention.largest(_shares), 1e-6)
	heads.selection = head
	heads.show_heads(_attention.heads, record.texts)
	_heads_title.text = _title_of_heads()
	tokens.queue_redraw()
	_show_caption()


## Those that are shown, until those that are wanted have been told.
func _title_of_heads() -> String:
	var at: Vector2i = _attention.place
	if _attention.heads.is_empty():
		return "What heads look at"
	return "Heads of layer %d, from %s" % [at.y, XRayRecord.quoted(record.texts[at.x])]


func _color_of(index: int) -> Color:
	var is_own: bool = index >= record.answer_from
	match look:
		Look.PIECES:
			return XRayPalette.piece(tokens, index)
		Look.SURENESS when is_own:
			return XRayPalette.sureness(tokens, sqrt(record.probability(index)))
		Look.ENTROPY when is_own:
			var openness: float = minf(record.entropy(index) / OPEN_BITS, 1.0)
			return XRayPalette.sureness(tokens, 1.0 - openness)
		Look.ATTENTION when index < _shares.size():
			return XRayPalette.heat(tokens, sqrt(minf(_shares[index] / _largest_share, 1.0)))
	return Color.TRANSPARENT


func _show_caption() -> void:
	_caption.text = _legend()


func _legend() -> String:
	if record.texts.is_empty():
		return "Ask something: what the model reads and writes is shown here, token by token."
	match look:
		Look.PIECES:
			var written: int = record.texts.size() - record.answer_from
			return "%d tokens read, %d written." % [record.answer_from, written]
		Look.SURENESS:
			return "Written tokens: the greener, the likelier the model took them to be."
		Look.ENTROPY:
			return "Written tokens: the redder, the more others might have come."
	return _legend_of_attention()


func _legend_of_attention() -> String:
	if layer < 0:
		return "No layer of this model has attention."
	if not _attention.error.is_empty():
		return _attention.error
	if _shares.is_empty():
		return "Select a token to see what was looked at when it was chosen."
	return (
		"The brighter, the more was looked at, to choose the selected token. %s of it went to %s."
		% [XRayCandidates.percent(_shares[0]), XRayRecord.quoted(record.texts[0])]
	)


func _describe(index: int) -> String:
	var lines: PackedStringArray = [
		"“%s”" % XRayRecord.shown(record.texts[index]),
		"token %d, at position %d" % [record.ids[index], index],
	]
	if index >= record.answer_from:
		lines.append("probability %s" % XRayCandidates.percent(record.probability(index)))
		lines.append("entropy %.2f bits" % record.entropy(index))
	if look == Look.ATTENTION and index < _shares.size():
		lines.append("attention %s" % XRayCandidates.percent(_shares[index]))
	return "\n".join(lines)


func _scroll_to(position: int) -> void:
	var place: Rect2 = tokens.box_of(position)
	var top: int = int(place.position.y) - 4
	var bottom: int = int(place.end.y - _text_scroll.size.y) + 4
	_text_scroll.scroll_vertical = clampi(_text_scroll.scroll_vertical, bottom, maxi(top, bottom))
