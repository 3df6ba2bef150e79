@tool
extends EditorPlugin
## Drives the editor of a test's project: see EditorProject.drive(). Scripts that extend it override
## [method _drive].

const LIMIT_FRAMES: int = 2000

## Said as REPORT {JSON} at the end.
var report: Dictionary = {}


func _enter_tree() -> void:
	_begin.call_deferred()


## What is done, once the project's files are known.
func _drive() -> void:
	pass


func _begin() -> void:
	var files: EditorFileSystem = EditorInterface.get_resource_filesystem()
	await wait_for(func() -> bool: return not files.is_scanning())
	await frames(5)
	print("DRIVEN")
	await _drive()
	print("REPORT " + JSON.stringify(report))
	get_tree().quit()


func frames(count: int) -> void:
	for _frame: int in count:
		await get_tree().process_frame


## Waits until [param is_so]; false where that takes too long.
func wait_for(is_so: Callable) -> bool:
	for _frame: int in LIMIT_FRAMES:
		if is_so.call():
			return true
		await get_tree().process_frame
	return false


## The node in the editor whose script has that class name, or null.
func find(named: String) -> Node:
	for node: Node in EditorInterface.get_base_control().find_children("*", "", true, false):
		var script: Script = node.get_script()
		if script != null and script.get_global_name() == named:
			return node
	return null


## The chat's dock, once its keys have led there; null where they do not.
func open_chat() -> Node:
	await press("Alt+L")
	var found: Array[Node] = []
	var base: Control = EditorInterface.get_base_control()
	var is_there: Callable = func() -> bool:
		found.assign(base.find_children("ChatDock", "", true, false))
		return not found.is_empty() and found[0].get_node("%PromptBox/%Input").has_focus()
	return found[0] if await wait_for(is_there) else null


## As a user presses it, with the keys that are held meanwhile: "Ctrl+Shift+Enter".
func press(keys: String) -> void:
	var event: InputEventKey = InputEventKey.new()
	for word: String in keys.split("+"):
		match word:
			"Ctrl":
				event.ctrl_pressed = true
			"Shift":
				event.shift_pressed = true
			"Alt":
				event.alt_pressed = true
			_:
				event.keycode = OS.find_keycode_from_string(word)
	event.physical_keycode = event.keycode
	for is_pressed: bool in [true, false]:
		event.pressed = is_pressed
		Input.parse_input_event(event.duplicate())
	await frames(2)


## The editor's window as it is seen now; EditorProject.picture() says where that is. A
## [param control] cuts it to its own place.
func take_picture(picture: String, control: Control = null) -> void:
	await frames(3)
	RenderingServer.force_draw()  # nothing is drawn by itself where nothing changes
	var viewport: Viewport = EditorInterface.get_base_control().get_viewport()
	var image: Image = viewport.get_texture().get_image()
	if control != null:
		image = image.get_region(Rect2i(control.get_global_rect()))
	image.save_png("user://%s.png" % picture)


## The editor's theme, by the name of a preset: "Default" is dark, "Light" is not.
func set_theme(preset: String) -> void:
	var settings: EditorSettings = EditorInterface.get_editor_settings()
	settings.set_setting("interface/theme/color_preset", preset)
	settings.mark_setting_changed("interface/theme/color_preset")
	# As the settings' own dialog does.
	get_tree().root.propagate_notification(EditorSettings.NOTIFICATION_EDITOR_SETTINGS_CHANGED)
	await frames(10)
