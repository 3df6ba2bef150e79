@tool
extends HFlowContainer
## What goes with a question: the script or the scene that is being edited, in its newest form.

const EditorContext = preload("editor_context.gd")

const HELPER: String = (
	"You help somebody who makes a game in the Godot 4 editor. Answer briefly. "
	+ "Put code in fenced blocks, and write GDScript with static types."
)
## Most of the context that goes to what is attached.
const SHARE: float = 0.5
## Of code, where the model that would count is not loaded.
const CHARACTERS_A_TOKEN: float = 3.0

var _llm: LLM

@onready var _script: Button = %Script
@onready var _scene: Button = %Scene


func _ready() -> void:
	for button: Button in [_script, _scene] as Array[Button]:
		button.toggled.connect(func(_is_on: bool) -> void: refresh())


## Follows what is edited.
func watch(plugin: EditorPlugin, llm: LLM) -> void:
	_llm = llm
	plugin.scene_changed.connect(_on_edited_changed)
	EditorInterface.get_script_editor().editor_script_changed.connect(_on_edited_changed)
	refresh()


## What the model is told ahead of the conversation.
func system_prompt() -> String:
	refresh()
	var parts: PackedStringArray = [HELPER]
	for piece: EditorContext.Piece in _pieces():
		if piece != null:
			parts.append(piece.text)
	return "\n\n".join(parts)


## Says on the buttons what would be attached, and how much of it.
func refresh() -> void:
	var pieces: Array[EditorContext.Piece] = _pieces()
	_show(_script, pieces[0], "Script", EditorInterface.get_script_editor().get_current_script())
	_show(_scene, pieces[1], "Scene", EditorInterface.get_edited_scene_root())


func _on_edited_changed(_what: Object) -> void:
	if is_visible_in_tree():
		refresh.call_deferred()


## Of the script and of the scene; null where it is not wanted, or there is none.
func _pieces() -> Array[EditorContext.Piece]:
	var wanted: int = int(_script.button_pressed) + int(_scene.button_pressed)
	var limit: int = int(_llm.context_length * SHARE / maxi(wanted, 1))
	return [
		EditorContext.of_script(limit, _count) if _script.button_pressed else null,
		EditorContext.of_scene(limit, _count) if _scene.button_pressed else null,
	]


func _count(text: String) -> int:
	var count: int = _llm.count_tokens(text)
	return ceili(text.length() / CHARACTERS_A_TOKEN) if count < 0 else count


func _show(button: Button, piece: EditorContext.Piece, what: String, edited: Object) -> void:
	button.disabled = edited == null and not button.button_pressed
	if piece == null:
		button.text = what
		button.tooltip_text = (
			"Ask about the %s that is open" % what.to_lower()
			if edited != null
			else "No %s is open" % what.to_lower()
		)
		return
	var amount: String = "%d tokens" % piece.tokens
	if piece.is_cut():
		amount = "%d of %d tokens" % [piece.tokens, piece.all_tokens]
	button.text = "%s · %s" % [piece.title, amount]
	button.tooltip_text = (
		"Goes with each question. At most %d %% of the context is used for that."
		% roundi(SHARE * 100.0)
	)
