@tool
extends RefCounted
## What has come of a file so far, and beside it where it comes from, and by what the server knows
## that file again.

const RECORD: String = "part"
const HASHED_AT_ONCE: int = 1 << 22

## Where it is.
var path: String
## Bytes that have come.
var size: int = 0
## The strong ETag or the date of change; empty where there is nothing that may be gone on with.
var validator: String = ""
## Bytes of the whole file; -1 where the server did not say.
var total: int = -1

var _url: String
var _file: FileAccess
var _hash: HashingContext
var _hash_stands_at: int = 0


## What has come from [param url] for the folder [param folder] lies there under a name of its own.
func _init(folder: String, url: String) -> void:
	_url = url
	var address: ModelAddress = ModelAddress.parse(url)
	path = folder.path_join("%s.%s.part" % [address.file_name(), url.md5_text().left(8)])


## Of what has come to [param folder] and is not whole, where it comes from.
static func unfinished(folder: String) -> PackedStringArray:
	var urls: PackedStringArray = []
	for name: String in DirAccess.get_files_at(folder):
		var record: ConfigFile = ConfigFile.new()
		if name.ends_with(".part.info") and record.load(folder.path_join(name)) == OK:
			urls.append(record.get_value(RECORD, "url", ""))
	return urls


## Says how much has come; what nothing is known of counts for nothing.
func look() -> void:
	var record: ConfigFile = ConfigFile.new()
	if FileAccess.file_exists(path) and record.load(_record_path()) == OK:
		validator = record.get_value(RECORD, "validator", "")
		total = record.get_value(RECORD, "total", -1)
	size = 0 if validator.is_empty() else FileAccess.get_size(path)


## Opens what has come, to go on there. An error, or OK.
func open() -> Error:
	look()
	if validator.is_empty():
		return begin("", -1)
	_file = FileAccess.open(path, FileAccess.READ_WRITE)
	if _file == null:
		return FileAccess.get_open_error()
	if total > 0 and size >= total:
		size = total - 1  # so that there is something to ask for, and the server may refuse it
		_file.resize(size)
	_file.seek_end()
	_begin_hash()
	return OK


## Begins anew, with a file that is known by [param new_validator]. An error, or OK.
func begin(new_validator: String, new_total: int) -> Error:
	validator = new_validator
	total = new_total
	size = 0
	_begin_hash()
	_file = FileAccess.open(path, FileAccess.WRITE)
	if _file == null:
		return FileAccess.get_open_error()
	var record: ConfigFile = ConfigFile.new()
	record.set_value(RECORD, "url", _url)
	record.set_value(RECORD, "validator", validator)
	record.set_value(RECORD, "total", total)
	return record.save(_record_path())


## Adds bytes. An error, or OK.
func write(bytes: PackedByteArray) -> Error:
	if not _file.store_buffer(bytes):
		return ERR_FILE_CANT_WRITE
	if _hash_stands_at == size:
		_hash.update(bytes)
		_hash_stands_at += bytes.size()
	size += bytes.size()
	return OK


## The SHA-256 of what has come. What came earlier is read again for it, in pieces; it is empty
## where [param is_cancelled] says so meanwhile.
func sha256(is_cancelled: Callable) -> String:
	if _hash_stands_at < size:
		_file.flush()
		var earlier: FileAccess = FileAccess.open(path, FileAccess.READ)
		_begin_hash()
		while _hash_stands_at < size:
			var bytes: PackedByteArray = earlier.get_buffer(HASHED_AT_ONCE)
			if bytes.is_empty() or is_cancelled.call():
				return ""
			_hash.update(bytes)
			_hash_stands_at += bytes.size()
	return _hash.finish().hex_encode()


func first_bytes(count: int) -> PackedByteArray:
	_file.flush()
	return FileAccess.open(path, FileAccess.READ).get_buffer(count)


## It is whole: it gets its name. An error, or OK.
func finish(as_path: String) -> Error:
	_file = null
	DirAccess.remove_absolute(_record_path())
	return DirAccess.rename_absolute(path, as_path)


func remove() -> void:
	_file = null
	DirAccess.remove_absolute(_record_path())
	DirAccess.remove_absolute(path)


func _begin_hash() -> void:
	_hash = HashingContext.new()
	_hash.start(HashingContext.HASH_SHA256)
	_hash_stands_at = 0


func _record_path() -> String:
	return path + ".info"
