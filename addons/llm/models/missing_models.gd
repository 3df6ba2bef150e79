class_name MissingModels
extends VBoxContainer
## Downloads the models for which the export preset has addresses, where they are not there yet, and
## shows the player how far it is.
##
## A game has [code]missing_models.tscn[/code] in the scene in which it begins:
## [codeblock]
## func _ready() -> void:
##     await $MissingModels.finished
##     $LLM.start_worker()
## [/codeblock]
## Paths such as [code]res://models/tiny.gguf[/code] then mean the file that came. What has come of
## one stays when the game is closed, and the download goes on there.

## All of them are there; also where none was missing, as in the editor.
signal finished

const DownloadList = preload("download_list.gd")
const ROW: PackedScene = preload("download_row.tscn")
## python/llm/nodes/model_places.py looks there.
const FOLDER: String = "user://models"

## What the game may need.
var downloads: DownloadList = DownloadList.new()


func _ready() -> void:
	downloads.read()
	for name: String in missing():
		_add_row(name)
	_look.call_deferred()


## Names of the files that are not there.
func missing() -> PackedStringArray:
	var found: PackedStringArray = []
	var llm: LLM = LLM.new()
	for name: String in downloads.names():
		if not llm.has_model_file("res://" + name):
			found.append(name)
	llm.free()
	return found


func _add_row(file_name: String) -> void:
	var row: DownloadRow = ROW.instantiate()
	row.download.url = downloads.url(file_name)
	row.download.sha256 = downloads.sha256(file_name)
	row.download.file_name = file_name
	row.download.folder = FOLDER
	add_child(row)
	(row.get_node(^"%Discard") as Button).hide()
	row.finished.connect(
		func(_path: String) -> void:
			row.queue_free()
			_look()
	)
	row.start()


func _look() -> void:
	if missing().is_empty():
		hide()
		finished.emit()
