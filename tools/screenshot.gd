extends SceneTree
## Talks to the default model in the chat and the demos, and saves what they show; see
## screenshot.py.

const PromptBox = preload("res://addons/llm/chat/prompt_box.gd")

const PICTURE: String = "res://docs/images/%s.png"
const SIZES: Dictionary[String, Vector2i] = {
	"chat": Vector2i(960, 560), "shop": Vector2i(960, 600), "room": Vector2i(960, 600)
}
const QUESTION: String = "What is the capital of France?"
const BEGINNING: String = "Once upon a time, in a small village by the sea,"
const LONGEST_ANSWER: int = 70
const PURCHASE: String = "I would like to buy the rope."
const TOPIC: String = "What happened here last night?"
const SEED: int = 5
const MANY_LETTERS: int = 24
const PATIENCE_MS: int = 240_000

var _background: Panel = Panel.new()


func _initialize() -> void:
	_run.call_deferred()


func _run() -> void:
	_background.set_anchors_and_offsets_preset(Control.PRESET_FULL_RECT)
	root.add_child(_background)
	var names: PackedStringArray = OS.get_cmdline_user_args()
	for name: String in SIZES:
		if not names.is_empty() and not name in names:
			continue
		var scene: Control = load("res://scenes/%s/%s.tscn" % [name, name]).instantiate()
		if not await call("_show_" + name, scene) or not await _save(name):
			quit(1)
			return
		scene.free()
	quit()


func _show_chat(chat: Chat) -> bool:
	chat.preferences_path = ""  # the picture is the same whatever this user has set
	var llm: LLM = chat.get_node("%LLM")
	llm.sampling.temperature = 0.0
	llm.max_tokens = LONGEST_ANSWER
	_open(chat)
	var prompt: PromptBox = chat.get_node("%PromptBox")
	for text: String in [QUESTION, BEGINNING] as Array[String]:
		prompt.continues_text = text == BEGINNING
		chat.send(text)
		if not await _over(llm, func() -> bool: return not llm.is_answering()):
			return false
	return true


func _show_shop(shop: Shop) -> bool:
	var llm: LLM = shop.get_node("%LLM")
	llm.temperature = 0.0
	_open(shop)
	shop.say(PURCHASE)
	return await _over(llm, func() -> bool: return not llm.is_answering())


func _show_room(room: Room) -> bool:
	_open(room)
	var people: Array[Node] = room.get_node("%People").get_children()
	for npc: Npc in people:
		npc.sampling.seed = SEED
	room.say(TOPIC)
	var have_begun: Callable = func(npc: Npc) -> bool:
		return (npc.get_node("%Speech") as Label).text.length() > MANY_LETTERS
	var is_over: Callable = func() -> bool:
		return room.talk.round_number == 0 or people.all(have_begun)
	return await _over((people[0] as Npc).llm, is_over)


func _open(scene: Control) -> void:
	root.add_child(scene)
	root.content_scale_factor = 1.0
	root.size = SIZES[scene.name.to_lower()]


func _over(llm: LLM, is_over: Callable) -> bool:
	var end: int = Time.get_ticks_msec() + PATIENCE_MS
	while not is_over.call():
		if Time.get_ticks_msec() > end:
			printerr("screenshot: the model took too long")
			return false
		await process_frame
	if not llm.get_last_error().is_empty():
		printerr("screenshot: " + llm.get_last_error())
		return false
	return true


func _save(name: String) -> bool:
	for _frame: int in 5:  # the layout settles over some frames
		await process_frame
	RenderingServer.force_draw()
	var path: String = PICTURE % name
	DirAccess.make_dir_recursive_absolute(ProjectSettings.globalize_path(path.get_base_dir()))
	var picture: Image = root.get_texture().get_image()
	picture.convert(Image.FORMAT_RGB8)
	var error: Error = picture.save_png(path)
	print("%s: %s" % [path, "saved" if error == OK else error_string(error)])
	return error == OK
