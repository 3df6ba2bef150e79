@tool
class_name DownloadBar
extends VBoxContainer
## Where an address is put in, and the downloads that run or were stopped.

## A file has come.
signal finished(path: String)
## The user chose another folder.
signal folder_chosen

const ROW: PackedScene = preload("download_row.tscn")
const ModelNames = preload("model_names.gd")
const IGNORED: String = "*.gguf\n*.part\n*.part.info\n"

## Where files go: into the project, where that is edited.
var folder: String = "res://models" if Engine.is_editor_hint() else "user://models":
	set = _set_folder

@onready var _address: LineEdit = %Address
@onready var _get: Button = %Get
@onready var _more: Button = %More
@onready var _options: Container = %Options
@onready var _sha256: LineEdit = %Sha256
@onready var _token: LineEdit = %Token
@onready var _folder: Button = %Folder
@onready var _folder_dialog: FileDialog = %FolderDialog
@onready var _rows: Container = %Rows
@onready var _problem: Label = %Problem
@onready var _git_hint: Container = %GitHint


func _ready() -> void:
	_address.text_submitted.connect(func(_text: String) -> void: _on_get_pressed())
	_address.text_changed.connect(func(_text: String) -> void: _problem.hide())
	_get.pressed.connect(_on_get_pressed)
	_more.toggled.connect(func(is_on: bool) -> void: _options.visible = is_on)
	_folder.pressed.connect(_on_folder_pressed)
	_folder_dialog.dir_selected.connect(choose_folder)
	(%KeepOut as Button).pressed.connect(_keep_out_of_git)
	_set_folder(folder)


## Downloads the file at [param url], or all files of the model whose first it is.
func start(url: String, sha256: String = "", token: String = "") -> void:
	var address: ModelAddress = ModelAddress.parse(url)
	if address == null:
		_problem.text = "That is no address of a file: it begins with https://"
		_problem.show()
		return
	for part: String in ModelNames.parts(address.url()):
		var row: DownloadRow = _row_of(part)
		if row == null:
			row = _add_row(part)
		row.download.sha256 = sha256
		if not token.is_empty():
			row.download.headers = ["Authorization: Bearer " + token]
		row.start()
	_git_hint.visible = _is_seen_by_git()


func choose_folder(path: String) -> void:
	folder = ProjectSettings.localize_path(path)
	folder_chosen.emit()


## The downloads that are not over.
func rows() -> Array[DownloadRow]:
	var found: Array[DownloadRow] = []
	for row: DownloadRow in _rows.get_children():
		found.append(row)
	return found


func _set_folder(path: String) -> void:
	folder = path
	if not is_node_ready():
		return
	_folder.text = path
	for url: String in ModelDownload.unfinished(path):
		var address: ModelAddress = ModelAddress.parse(url)
		if address != null and _row_of(url) == null:
			_add_row(url)


func _on_get_pressed() -> void:
	var url: String = _address.text.strip_edges()
	if url.is_empty():
		_address.grab_focus()
		return
	start(url, _sha256.text.strip_edges(), _token.text.strip_edges())
	if not _problem.visible:
		_address.clear()
		_sha256.clear()


func _on_folder_pressed() -> void:
	_folder_dialog.current_dir = ProjectSettings.globalize_path(folder)
	_folder_dialog.popup_centered_clamped(Vector2i(720, 520), 0.9)


func _row_of(url: String) -> DownloadRow:
	for row: DownloadRow in rows():
		if row.download.url == url and not row.is_queued_for_deletion():
			return row
	return null


func _add_row(url: String) -> DownloadRow:
	var row: DownloadRow = ROW.instantiate()
	row.download.url = url
	row.download.folder = folder
	_rows.add_child(row)
	row.discarded.connect(row.queue_free)
	row.finished.connect(
		func(path: String) -> void:
			row.queue_free()
			finished.emit(path)
	)
	return row


## Whether a model in that folder would be committed.
func _is_seen_by_git() -> bool:
	if not folder.begins_with("res://") or not DirAccess.dir_exists_absolute("res://.git"):
		return false
	var ignores: String = FileAccess.get_file_as_string("res://.gitignore")
	return (
		not FileAccess.file_exists(folder.path_join(".gitignore")) and not ignores.contains("gguf")
	)


func _keep_out_of_git() -> void:
	var file: FileAccess = FileAccess.open(folder.path_join(".gitignore"), FileAccess.WRITE)
	if file != null:
		file.store_string(IGNORED)
	_git_hint.hide()
