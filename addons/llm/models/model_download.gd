@tool
class_name ModelDownload
extends Node
## Downloads a GGUF file, in the editor or in a game that fetches its model when it first runs.
##
## [codeblock]
## var download: ModelDownload = ModelDownload.new()
## download.url = "https://example.org/FILE.gguf"
## download.folder = "user://models"
## add_child(download)
## download.start()
## var error: String = await download.ended
## if error.is_empty():
##     llm.model_path = download.path
## [/codeblock]
## What has come lies beside the file's place, as a [code].part[/code] file; a download that was cut
## or cancelled goes on there, if the server still has the same file. Only a whole file whose
## checksum is right gets its name. Nothing of it waits on the main thread.

## How much has come; [param total] is -1 where the server does not say. In bytes.
signal progressed(received: int, total: int)
## It is over, exactly once for each [method start]: [param error] is empty where the file is at
## [member path], [constant CANCELLED], or says in a line what happened and what to do.
signal ended(error: String)

const Transfer = preload("model_transfer.gd")

const CANCELLED: String = Transfer.CANCELLED
const ALREADY: String = "this file is being downloaded already; wait for that"

static var _running: Array[String] = []  # what they write to

## Where the file is on the web. The page of a file on Hugging Face will do.
@export var url: String = ""
## Where it goes: a [code]user://[/code], [code]res://[/code] or absolute path.
@export_dir var folder: String = "user://models"
## Its name there; empty: as the server or the address has it.
@export var file_name: String = ""
## Its SHA-256, in hexadecimal digits. Empty: what the server tells, where Hugging Face is it.
@export var sha256: String = ""
## Sent to the host of [member url] alone, as [code]Authorization: Bearer …[/code] for models that
## want a licence to be accepted.
@export var headers: PackedStringArray = []
## Seconds without a byte after which a connection counts as cut.
@export var patience: float = 30.0
## Seconds before another try, and more before later ones.
@export var pause: float = 1.0

## Where the file is, once it came.
var path: String = ""
## Certificates of hosts that have their own; null: those of the system.
var tls: TLSOptions = null
## As [signal progressed] told last.
var received: int = 0
## As [signal progressed] told last.
var total: int = -1

var _transfer: Transfer
var _thread: Thread


func _ready() -> void:
	set_process(_thread != null)


func _process(_delta: float) -> void:
	_tell_progress()
	if _thread != null and not _thread.is_alive():
		_end()


func _exit_tree() -> void:
	if _thread != null:
		_transfer.cancel()
		_end()


## Begins, or goes on with what has come earlier. The node must be inside the tree; leaving it
## cancels.
func start() -> void:
	if _thread != null:
		return
	path = ""
	_transfer = _made_transfer()
	if _transfer.place() in _running:
		ended.emit.call_deferred(ALREADY)
		return
	_running.append(_transfer.place())
	_thread = Thread.new()
	_thread.start(_transfer.run)
	set_process(true)


## Ends it; what has come stays, and [method start] goes on there.
func cancel() -> void:
	if _thread != null:
		_transfer.cancel()


func is_running() -> bool:
	return _thread != null


## Addresses of what has come to [param in_folder] and is not whole: [method start] would go on.
static func unfinished(in_folder: String) -> PackedStringArray:
	return Transfer.PartFile.unfinished(in_folder)


## Has [member received] and [member total] say how much came earlier.
func look() -> void:
	if ModelAddress.parse(url) != null:
		var part: Transfer.PartFile = _part()
		part.look()
		received = part.size
		total = part.total


## Removes what has come of a file that was not finished.
func discard() -> void:
	if _thread == null and ModelAddress.parse(url) != null:
		_part().remove()


func _part() -> Transfer.PartFile:
	return Transfer.PartFile.new(ProjectSettings.globalize_path(folder), url)


func _made_transfer() -> Transfer:
	var transfer: Transfer = Transfer.new()
	transfer.url = url
	transfer.folder = ProjectSettings.globalize_path(folder)
	transfer.file_name = file_name
	transfer.sha256 = sha256.strip_edges()
	transfer.headers = headers
	transfer.patience_s = patience
	transfer.pause_s = pause
	transfer.tls = tls
	return transfer


func _tell_progress() -> void:
	var now: Array[int] = _transfer.progress()
	if now[0] != received or now[1] != total:
		received = now[0]
		total = now[1]
		progressed.emit(received, total)


func _end() -> void:
	var error: String = _thread.wait_to_finish()
	_thread = null
	_running.erase(_transfer.place())
	set_process(false)
	_tell_progress()
	if error.is_empty():
		path = folder.path_join(_transfer.path.get_file())
	ended.emit(error)
