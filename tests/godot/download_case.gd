extends "res://tests/godot/case.gd"
## What tests of downloads share: a server, a folder of their own, and a download.

const Server: GDScript = preload("res://tests/godot/model_server.gd")

const SIZE: int = 700_005
const SHA256: String = "98909984b9b7ee2310fc20b3bc9c593b3c5b8cdf6b2a2a5804f060125c5b7dae"
const OTHER_SIZE: int = 600_007

var _server: RefCounted = Server.new()
var _folder: String
var _download: ModelDownload
var _errors: PackedStringArray = []


func _enter_tree() -> void:
	_folder = OS.get_user_data_dir().path_join("downloads %d" % get_instance_id())
	DirAccess.make_dir_recursive_absolute(_folder)


func _exit_tree() -> void:
	for file: String in _files():
		DirAccess.remove_absolute(_folder.path_join(file))
	DirAccess.remove_absolute(_folder)


func _fetch(name: String) -> void:
	_make(name)
	_download.start()
	await _ended()


func _make(name: String) -> void:
	if is_instance_valid(_download):
		_download.queue_free()
	_download = ModelDownload.new()
	_download.url = _server.call("address", name)
	_download.folder = _folder
	_download.patience = 0.5
	_download.pause = 0.0
	_download.ended.connect(func(error: String) -> void: _errors.append(error))
	add_child(_download)


func _ended() -> void:
	var had: int = _errors.size()
	await until(func() -> bool: return _errors.size() > had, "the end of " + _download.url, 20.0)


func _came(name: String, size: int, sha256: String = SHA256) -> void:
	check_equal(_errors[-1], "", "the error of " + name)
	var path: String = _folder.path_join(name)
	check_equal(_download.path, path, "the path")
	var file: FileAccess = FileAccess.open(path, FileAccess.READ)
	check(file != null, path + " is there")
	if file != null:
		check_equal(file.get_length(), size, "bytes of " + name)
		if not sha256.is_empty():
			check_equal(FileAccess.get_sha256(path), sha256, "the checksum of " + name)


func _failed(part: String) -> void:
	check(_errors[-1].contains(part), "'%s' tells '%s'" % [_errors[-1], part])
	check_equal(_download.path, "", "a path")


func _files() -> PackedStringArray:
	return DirAccess.get_files_at(_folder)


func _ranges(name: String) -> Array:
	var found: Array = []
	for line: String in _log():
		if line.get_slice(" ", 0) == name:
			found.append(line.substr(name.length()).strip_edges())
	return found


## What the server was asked.
func _log() -> PackedStringArray:
	var client: HTTPClient = HTTPClient.new()
	var url: ModelAddress = ModelAddress.parse(_server.call("address", "log"))
	client.blocking_mode_enabled = true
	client.connect_to_host(url.host, url.port)
	while client.get_status() in [HTTPClient.STATUS_RESOLVING, HTTPClient.STATUS_CONNECTING]:
		client.poll()
	client.request(HTTPClient.METHOD_GET, "/log", [])
	var bytes: PackedByteArray = []
	while client.get_status() in [HTTPClient.STATUS_REQUESTING, HTTPClient.STATUS_BODY]:
		client.poll()
		if client.has_response():
			bytes.append_array(client.read_response_body_chunk())
	return bytes.get_string_from_utf8().split("\n")
