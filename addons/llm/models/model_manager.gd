@tool
class_name ModelManager
extends VBoxContainer
## Lists the model files of this machine with what is in them and whether they fit, and gets more.
##
## It stands in the editor, and can stand in a game: [signal model_chosen] says which model to use.

## This one is to be used; a res://, user:// or absolute path.
signal model_chosen(path: String)
## This file came, or went.
signal file_changed(path: String)

const ModelPlaces = preload("model_places.gd")

const WIDE: float = 760.0
const EDITOR_SIDE: String = "res://addons/llm/models/editor/selected_user.gd"

## Whose model it would be, for the button; empty: nobody's.
@export var user_name: String = "":
	set = _set_user_name
## Where folders are remembered; empty: nowhere.
@export var preferences_path: String = ModelPlaces.REMEMBERED
## Looked through as well.
@export var folders: PackedStringArray = []
## Whether the usual places are looked through.
@export var looks_everywhere: bool = true

var _models: Dictionary[String, ModelRow] = {}
var _to_select: String = ""

@onready var list: ModelList = %List
@onready var downloads: DownloadBar = %Downloads
@onready var _files: LLMModelFiles = %Files
@onready var _filter: LineEdit = %Filter
@onready var _parts: SplitContainer = %Parts
@onready var _details: Container = %Details
@onready var _title: Label = %Title
@onready var _facts: ModelFactsTable = %Facts
@onready var _use: Button = %Use
@onready var _status: Label = %Status
@onready var _nothing: Label = %Nothing
@onready var _removal: ConfirmationDialog = %Removal
@onready var _folder_dialog: FileDialog = %FolderDialog


func _ready() -> void:
	_files.found.connect(_on_found)
	_files.described.connect(_on_described)
	list.selected.connect(_show_details)
	list.activated.connect(use)
	list.removal_requested.connect(ask_to_remove)
	_filter.text_changed.connect(func(text: String) -> void: list.filter = text)
	downloads.finished.connect(_on_downloaded)
	downloads.folder_chosen.connect(_on_folder_chosen)
	(%Refresh as Button).pressed.connect(refresh)
	(%AddFolder as Button).pressed.connect(
		func() -> void: _folder_dialog.popup_centered_clamped(Vector2i(720, 520), 0.9)
	)
	_folder_dialog.dir_selected.connect(add_folder)
	_use.pressed.connect(func() -> void: use(list.selection()))
	(%Show as Button).pressed.connect(
		func() -> void: OS.shell_show_in_file_manager(list.selection().path)
	)
	(%Copy as Button).pressed.connect(
		func() -> void: DisplayServer.clipboard_set(list.selection().short_path())
	)
	(%Remove as Button).pressed.connect(func() -> void: ask_to_remove(list.selection()))
	_removal.confirmed.connect(func() -> void: remove(list.selection()))
	resized.connect(func() -> void: _parts.vertical = size.x < WIDE)
	_recall()
	_show_details(null)
	if is_part_of_edited_scene():
		return
	if Engine.is_editor_hint():
		add_child((load(EDITOR_SIDE) as GDScript).new(self))
	refresh()


## Looks for files again.
func refresh() -> void:
	_status.text = "Looking for models …"
	var places: PackedStringArray = folders.duplicate()
	if looks_everywhere:
		places.append_array(ModelPlaces.EVERYWHERE)
		if OS.has_feature("template"):  # where exports place models
			places.append(OS.get_executable_path().get_base_dir().path_join("models"))
	places.append(downloads.folder)
	_files.find(places)


## Looks through a folder from now on, too.
func add_folder(path: String) -> void:
	if path not in folders:
		folders.append(path)
		_remember()
	refresh()


## Chooses a model, where somebody is there to use it.
func use(row: ModelRow) -> void:
	if row != null and not _use.disabled:
		model_chosen.emit(row.short_path())


func ask_to_remove(row: ModelRow) -> void:
	var room: String = String.humanize_size(row.bytes())
	_removal.dialog_text = (
		"Move %s to the trash?\nIts %s are free once that is emptied." % [row.path.get_file(), room]
	)
	_removal.popup_centered()


## Moves its files to the trash.
func remove(row: ModelRow) -> void:
	for path: String in ModelRow.files_of(row.path):
		var error: Error = OS.move_to_trash(path)
		if error != OK:
			_status.text = "%s cannot be moved to the trash: %s" % [path, error_string(error)]
			return
		file_changed.emit(path)
	refresh()


func _on_found(paths: PackedStringArray) -> void:
	var before: Dictionary[String, ModelRow] = _models
	_models = {}
	for path: String in paths:
		_models[path] = before.get(path, ModelRow.new(path))
		_files.describe(path)
	list.show_rows(_models.values())
	_nothing.visible = paths.is_empty()
	_show_status()
	if not _to_select.is_empty():
		list.select_path(_to_select)
		_to_select = ""


func _on_described(path: String, facts: Dictionary) -> void:
	if path in _models:
		_models[path].facts = facts
		list.refresh()
		_show_status()
		if list.selection() == _models[path]:
			_show_details(_models[path])


func _on_downloaded(path: String) -> void:
	_to_select = ProjectSettings.globalize_path(path)
	file_changed.emit(path)
	refresh()


func _on_folder_chosen() -> void:
	_remember()
	refresh()


func _show_details(row: ModelRow) -> void:
	_details.visible = row != null
	if row == null:
		return
	_show_use()
	_title.text = row.title()
	_title.tooltip_text = row.path
	if row.facts.is_empty():
		_facts.clear()
	else:
		_facts.show_facts(row.facts)


func _show_status() -> void:
	var bytes: int = 0
	for row: ModelRow in _models.values():
		bytes += row.bytes()
	var count: String = "%d model%s" % [_models.size(), "" if _models.size() == 1 else "s"]
	_status.text = "%s, %s" % [count, String.humanize_size(bytes)]
	var directory: DirAccess = DirAccess.open(downloads.folder.get_base_dir())
	if directory != null:
		var space: String = String.humanize_size(directory.get_space_left())
		_status.text += "; %s are free for downloads" % space


func _set_user_name(name_of_user: String) -> void:
	user_name = name_of_user
	if is_node_ready():
		_show_use()


func _show_use() -> void:
	var row: ModelRow = list.selection()
	_use.text = "Use" if user_name.is_empty() else "Use in " + user_name
	_use.disabled = user_name.is_empty() or row == null or not row.is_usable()


func _recall() -> void:
	var file: ConfigFile = ConfigFile.new()
	if not preferences_path.is_empty() and file.load(preferences_path) == OK:
		folders = file.get_value(ModelPlaces.SECTION, ModelPlaces.FOLDERS, folders)
		downloads.folder = file.get_value(ModelPlaces.SECTION, "downloads", downloads.folder)


func _remember() -> void:
	if preferences_path.is_empty():
		return
	var file: ConfigFile = ConfigFile.new()
	file.set_value(ModelPlaces.SECTION, ModelPlaces.FOLDERS, folders)
	file.set_value(ModelPlaces.SECTION, "downloads", downloads.folder)
	file.save(preferences_path)
