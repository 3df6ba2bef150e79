@tool
extends EditorProperty
## A property with the path of a model: files are dropped on it or picked, a folder too, and below
## it stands what the file is.

const FILTER: String = "*.gguf"

var _line: LineEdit = LineEdit.new()
var _pick_file: Button = Button.new()
var _pick_folder: Button = Button.new()
var _about: Label = Label.new()
var _files: LLMModelFiles = LLMModelFiles.new()
var _dialog: EditorFileDialog
var _described: String = ""


## [param takes_folders]: Hugging Face folders are models, too.
func _init(takes_folders: bool) -> void:
	var row: HBoxContainer = HBoxContainer.new()
	row.add_child(_line)
	row.add_child(_pick_file)
	add_child(row)
	add_focusable(_line)
	_pick_file.flat = true
	_pick_folder.flat = true
	_line.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	_line.set_drag_forwarding(Callable(), _can_drop, _drop)
	_line.text_submitted.connect(_choose)
	_line.focus_exited.connect(func() -> void: _choose(_line.text))
	_pick_file.tooltip_text = "Pick a GGUF file"
	_pick_file.pressed.connect(_open.bind(EditorFileDialog.FILE_MODE_OPEN_FILE))
	if takes_folders:
		row.add_child(_pick_folder)
		_pick_folder.tooltip_text = "Pick a Hugging Face folder"
		_pick_folder.pressed.connect(_open.bind(EditorFileDialog.FILE_MODE_OPEN_DIR))
	_about.text_overrun_behavior = TextServer.OVERRUN_TRIM_ELLIPSIS
	_about.mouse_filter = Control.MOUSE_FILTER_STOP
	_about.hide()
	add_child(_about)
	set_bottom_editor(_about)
	add_child(_files)
	_files.described.connect(_show_about)


func _notification(what: int) -> void:
	if what == NOTIFICATION_THEME_CHANGED:
		_pick_file.icon = get_theme_icon(&"FileBrowse", &"EditorIcons")
		_pick_folder.icon = get_theme_icon(&"FolderBrowse", &"EditorIcons")
	elif what == NOTIFICATION_PREDELETE and _pick_folder.get_parent() == null:
		_pick_folder.free()


func _update_property() -> void:
	var path: String = get_edited_object().get(get_edited_property())
	if path != _line.text:
		_line.text = path
		_line.caret_column = path.length()  # so that the file's name is seen
	_line.tooltip_text = path
	if path != _described:
		_described = path
		_about.hide()
		if not path.is_empty() and not path.begins_with("echo:"):
			_files.describe(path)


func _set_read_only(read_only: bool) -> void:
	_line.editable = not read_only
	_pick_file.disabled = read_only
	_pick_folder.disabled = read_only


func _can_drop(_position: Vector2, data: Variant) -> bool:
	return _line.editable and not _dropped(data).is_empty()


func _drop(_position: Vector2, data: Variant) -> void:
	_choose(_dropped(data))


## The path that is dragged; empty where that is no model.
func _dropped(data: Variant) -> String:
	if not data is Dictionary or data.get("files", []).size() != 1:
		return ""
	var path: String = data["files"][0]
	match data.get("type", ""):
		"files":
			return path if path.get_extension().to_lower() == "gguf" else ""
		"files_and_dirs":
			return path.trim_suffix("/") if _pick_folder.get_parent() != null else ""
	return ""


func _open(mode: EditorFileDialog.FileMode) -> void:
	if _dialog == null:
		_dialog = EditorFileDialog.new()
		_dialog.access = EditorFileDialog.ACCESS_FILESYSTEM
		_dialog.file_selected.connect(_choose)
		_dialog.dir_selected.connect(_choose)
		add_child(_dialog)
	_dialog.file_mode = mode
	_dialog.filters = [FILTER + ";GGUF files"]
	_dialog.current_dir = ProjectSettings.globalize_path(_line.text.get_base_dir())
	_dialog.popup_file_dialog()


func _choose(path: String) -> void:
	var local: String = ProjectSettings.localize_path(path) if path.is_absolute_path() else path
	if local != get_edited_object().get(get_edited_property()):
		emit_changed(get_edited_property(), local)


func _show_about(path: String, facts: Dictionary) -> void:
	if path != _described:
		return
	var row: ModelRow = ModelRow.new(path)
	row.facts = facts
	_about.text = row.summary()
	_about.tooltip_text = row.reason()
	_about.show()
