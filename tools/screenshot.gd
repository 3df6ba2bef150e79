extends SceneTree
## Asks the default model two things in the chat and saves what the window shows; see screenshot.py.

const PICTURE: String = "res://docs/images/chat.png"
const SIZE: Vector2i = Vector2i(960, 560)
const QUESTION: String = "What is the capital of France?"
const BEGINNING: String = "Once upon a time, in a small village by the sea,"
const LONGEST_ANSWER: int = 70
const PATIENCE_MS: int = 240_000


func _initialize() -> void:
	_run.call_deferred()


func _run() -> void:
	var chat: Chat = (load("res://scenes/chat/chat.tscn") as PackedScene).instantiate()
	chat.preferences_path = ""  # the picture is the same whatever this user has set
	var llm: LLM = chat.get_node("%LLM")
	llm.sampling.temperature = 0.0
	llm.max_tokens = LONGEST_ANSWER
	_show(chat)
	var prompt: PromptBox = chat.get_node("%PromptBox")
	for text: String in [QUESTION, BEGINNING] as Array[String]:
		prompt.continues_text = text == BEGINNING
		chat.send(text)
		if not await _answered(llm):
			quit(1)
			return
	quit(await _save())


func _show(chat: Chat) -> void:
	var background: Panel = Panel.new()
	background.set_anchors_and_offsets_preset(Control.PRESET_FULL_RECT)
	root.add_child(background)
	root.add_child(chat)
	root.content_scale_factor = 1.0
	root.size = SIZE


func _answered(llm: LLM) -> bool:
	var end: int = Time.get_ticks_msec() + PATIENCE_MS
	while llm.is_answering():
		if Time.get_ticks_msec() > end:
			printerr("screenshot: the model took too long")
			return false
		await process_frame
	if not llm.get_last_error().is_empty():
		printerr("screenshot: " + llm.get_last_error())
		return false
	return true


func _save() -> int:
	for _frame: int in 5:  # the layout settles over some frames
		await process_frame
	RenderingServer.force_draw()
	DirAccess.make_dir_recursive_absolute(ProjectSettings.globalize_path(PICTURE.get_base_dir()))
	var picture: Image = root.get_texture().get_image()
	picture.convert(Image.FORMAT_RGB8)
	var error: Error = picture.save_png(PICTURE)
	print("%s: %s" % [PICTURE, "saved" if error == OK else error_string(error)])
	return 0 if error == OK else 1
