extends "res://tests/godot/case.gd"
## The manager lists what there is, sorts and filters it, gets more and removes what is not wanted.

const SCENE: PackedScene = preload("res://addons/llm/models/model_manager.tscn")
const AdapterFile: GDScript = preload("res://tests/godot/adapter_file.gd")
const Server: GDScript = preload("res://tests/godot/model_server.gd")

const GEMMA: String = "gemma-3-270m-q4_k_m"
const ADAPTER: String = "style"
const DAMAGED: String = "damaged"

var _folder: String
var _manager: ModelManager


func test_models_are_listed_with_what_they_are() -> void:
	await _open()
	check_equal(_titles(), [DAMAGED, GEMMA, ADAPTER], "models")
	var gemma: ModelRow = _row(GEMMA)
	check_equal(gemma.parameters(), "268 M", "parameters")
	check_equal(gemma.format(), "Q8_0", "the format")
	check_equal(gemma.bytes(), FileAccess.get_size(MODEL), "bytes")
	check_equal(gemma.verdict(), ModelRow.Verdict.FITS, "whether it fits")
	check(gemma.reason().begins_with("fits: takes "), gemma.reason())
	check_equal(_row(ADAPTER).verdict(), ModelRow.Verdict.ADAPTER, "the adapter")
	check_equal(_row(DAMAGED).verdict(), ModelRow.Verdict.DAMAGED, "the damaged one")
	check(_text("%Status").begins_with("3 models, "), _text("%Status"))


func test_a_click_on_a_title_sorts() -> void:
	await _open()
	var list: ModelList = _manager.list
	var size: int = list._shown.find(ModelList.Column.SIZE)
	list.column_title_clicked.emit(size, MOUSE_BUTTON_LEFT)
	check_equal(_titles(), [DAMAGED, ADAPTER, GEMMA], "the smallest first")
	list.column_title_clicked.emit(size, MOUSE_BUTTON_LEFT)
	check_equal(_titles(), [GEMMA, ADAPTER, DAMAGED], "the largest first")


func test_a_filter() -> void:
	await _open()
	var wanted: Dictionary[String, Array] = {
		"gemma q8": [GEMMA], "lora": [ADAPTER], "Damaged": [DAMAGED], "llama 7b": []
	}
	for filter: String in wanted:
		(_manager.get_node("%Filter") as LineEdit).text = filter
		(_manager.get_node("%Filter") as LineEdit).text_changed.emit(filter)
		check_equal(_titles(), wanted[filter], "models with '%s'" % filter)


func test_facts_of_the_selected_model() -> void:
	await _open()
	check(not (_manager.get_node("%Details") as Control).visible, "none is selected")
	_manager.list.select_path(_path(GEMMA))
	await frames(2)
	check((_manager.get_node("%Details") as Control).visible, "one is")
	check_equal(_text("%Title"), GEMMA, "the title")
	var facts: Array = _manager.get_node("%Facts").get_children().map(
		func(label: Label) -> String: return label.text
	)
	check_equal(facts[facts.find("context length") + 1], "32,768", "a fact")
	_manager.list.select_path(_path(DAMAGED))
	await frames(2)
	var problem: String = (_manager.get_node("%Facts").get_child(1) as Label).text
	check(problem.contains("cut short") or problem.contains("version"), problem)


func test_a_model_is_used() -> void:
	await _open()
	var chosen: Array[String] = []
	_manager.model_chosen.connect(func(path: String) -> void: chosen.append(path))
	_manager.list.select_path(_path(GEMMA))
	await frames(2)
	var use: Button = _manager.get_node("%Use")
	check(use.disabled, "nobody is there to use it")
	_manager.list.item_activated.emit()
	_manager.user_name = "Keeper"
	check_equal(use.text, "Use in Keeper", "the button")
	use.pressed.emit()
	_manager.list.item_activated.emit()
	check_equal(chosen.size(), 2, "choices")
	check(chosen[0].begins_with("user://") and chosen[0].ends_with(GEMMA + ".gguf"), chosen[0])
	(_manager.get_node("%Copy") as Button).pressed.emit()
	check_equal(DisplayServer.clipboard_get(), chosen[0], "the clipboard")


func test_a_row_can_be_dragged_to_a_path() -> void:
	await _open()
	var list: ModelList = _manager.list
	list.select_path(_path(GEMMA))
	var place: Vector2 = list.get_item_area_rect(list.get_selected(), 0).get_center()
	var data: Dictionary = list.drag_data(place)
	check_equal(data["type"], "files", "its type")
	check((data["files"][0] as String).ends_with(GEMMA + ".gguf"), str(data))


func test_removing_asks_first() -> void:
	await _open()
	_manager.list.select_path(_path(ADAPTER))
	_manager.list.grab_focus()
	var delete: InputEventKey = InputEventKey.new()
	delete.keycode = KEY_DELETE
	delete.pressed = true
	get_viewport().push_input(delete)
	await frames(2)
	var dialog: ConfirmationDialog = _manager.get_node("%Removal")
	check(dialog.visible, "it asks")
	check(dialog.dialog_text.begins_with("Move style.gguf to the trash?"), dialog.dialog_text)
	check(FileAccess.file_exists(_path(ADAPTER)), "nothing was removed")
	dialog.get_ok_button().pressed.emit()
	check(not FileAccess.file_exists(_path(ADAPTER)), "it was removed")
	await until(func() -> bool: return _titles() == [DAMAGED, GEMMA], "the list without it")
	check(not (_manager.get_node("%Details") as Control).visible, "nothing is selected")


func test_a_download_joins_the_list() -> void:
	var server: RefCounted = Server.new()
	await _open()
	_type_address(server.call("address", "whole.gguf"))
	await until(func() -> bool: return "whole" in _titles(), "the file in the list")
	check_equal(_manager.downloads.rows().size(), 0, "downloads")
	check_equal(_manager.list.selection().title(), "whole", "what is selected")


func test_a_stopped_download_can_go_on_later() -> void:
	var server: RefCounted = Server.new()
	await _open()
	_type_address(server.call("address", "slow.gguf"))
	var row: DownloadRow = _manager.downloads.rows()[0]
	await until(func() -> bool: return row.download.received > 0, "some of it")
	check(row.state().contains(" of 683.5 KiB"), row.state())
	(row.get_node("%Toggle") as Button).pressed.emit()
	await until(func() -> bool: return not row.download.is_running(), "its end")
	check(row.state().begins_with("stopped at "), row.state())
	_manager.free()
	await _open()
	check_equal(_manager.downloads.rows().size(), 1, "it is there again")
	row = _manager.downloads.rows()[0]
	(row.get_node("%Toggle") as Button).pressed.emit()
	await until(func() -> bool: return "slow" in _titles(), "the file in the list")


func test_a_download_that_fails_says_why() -> void:
	var server: RefCounted = Server.new()
	await _open()
	_type_address("models/a.gguf")
	check(_text("%Downloads/%Problem").contains("no address"), _text("%Downloads/%Problem"))
	_type_address(server.call("address", "missing.gguf"))
	var row: DownloadRow = _manager.downloads.rows()[0]
	await until(func() -> bool: return row.state().contains("404"), "why")
	(row.get_node("%Discard") as Button).pressed.emit()
	await frames(3)
	check_equal(_manager.downloads.rows().size(), 0, "downloads")


func test_folders_are_remembered() -> void:
	await _open(_folder + "/preferences.cfg")
	var other: String = _folder.path_join("other")
	DirAccess.make_dir_absolute(other)
	DirAccess.copy_absolute(_path(ADAPTER), other.path_join("second.gguf"))
	_manager.folders = []
	_manager.add_folder(other)
	await until(func() -> bool: return "second" in _titles(), "the other folder's")
	_manager.downloads.choose_folder(other)
	_manager.free()
	await _open(_folder + "/preferences.cfg", 1)
	check_equal(_manager.folders, PackedStringArray([other]), "the folders")
	check_equal(_manager.downloads.folder, other, "the folder for downloads")


func test_in_small_windows_and_large_ones() -> void:
	await _open()
	_manager.list.select_path(_path(GEMMA))
	for part: String in ["%List", "%Details", "%Downloads", "%Status"] as Array[String]:
		await check_fits(_manager, _manager.get_node(part))


func test_nothing_to_list() -> void:
	DirAccess.remove_absolute(_path(GEMMA))
	DirAccess.remove_absolute(_path(ADAPTER))
	DirAccess.remove_absolute(_path(DAMAGED))
	await _open("", 0)
	check((_manager.get_node("%Nothing") as Label).visible, "it says what to do")


func _enter_tree() -> void:
	_folder = OS.get_user_data_dir().path_join("manager %d" % get_instance_id())
	DirAccess.make_dir_recursive_absolute(_folder)
	DirAccess.open(_folder).create_link(ProjectSettings.globalize_path(MODEL), _path(GEMMA))
	AdapterFile.write(_path(ADAPTER))
	var damaged: FileAccess = FileAccess.open(_path(DAMAGED), FileAccess.WRITE)
	damaged.store_string("GGUF damaged")
	damaged.close()


func _exit_tree() -> void:
	OS.execute("rm", ["-r", _folder])


func _open(preferences: String = "", count: int = 3) -> void:
	_manager = SCENE.instantiate()
	_manager.looks_everywhere = false
	_manager.folders = [_folder]
	_manager.preferences_path = preferences
	(_manager.get_node("%Downloads") as DownloadBar).folder = _folder
	add_child(_manager)
	var is_known: Callable = func() -> bool:
		var rows: Array = _manager._models.values()
		return (
			rows.size() >= count
			and rows.all(func(row: ModelRow) -> bool: return not row.facts.is_empty())
		)
	await until(is_known, "the models", 20.0)
	await frames(3)


func _type_address(address: String) -> void:
	var line: LineEdit = _manager.downloads.get_node("%Address")
	line.text = address
	line.text_submitted.emit(address)


func _path(title: String) -> String:
	return _folder.path_join(title + ".gguf")


func _row(title: String) -> ModelRow:
	return _manager._models[_path(title)]


func _titles() -> Array:
	return Array(_manager.list.paths()).map(
		func(path: String) -> String: return path.get_file().get_basename()
	)


func _text(path: String) -> String:
	return (_manager.get_node(path) as Label).text
