@tool
extends RefCounted
## The work of a [ModelDownload], on a thread: asks, goes on after cuts, and checks what came.

const HttpGet = preload("http_get.gd")
const PartFile = preload("part_file.gd")

const MAGIC: String = "GGUF"
const CANCELLED: String = "cancelled"
## Tries in which nothing came, one after the other.
const MOST_TRIES: int = 4
## Times that a file is begun anew, as the server had another one or does not go on with it.
const MOST_BEGINNINGS: int = 3
## What has to be left on the disk.
const MARGIN_BYTES: int = 64 << 20
const ADVICE: Dictionary[int, String] = {
	401: "it has to be allowed: accept the model's licence on its page, and give an access token",
	403: "it has to be allowed: accept the model's licence on its page, and give an access token",
	404: "there is no such file; check the address",
	410: "the file is there no more; look for another source",
	429: "there were too many downloads; try later",
}

## Set before it runs.
var url: String
var folder: String
var file_name: String
var sha256: String
var headers: PackedStringArray
var patience_s: float = 30.0
var pause_s: float = 1.0
var tls: TLSOptions

## Where the file is, once it is whole.
var path: String = ""

var _mutex: Mutex = Mutex.new()
var _is_cancelled: bool = false
var _received: int = 0
var _total: int = -1
var _part: PartFile
var _expected: String = ""  # SHA-256
var _beginnings: int = 0
var _error: String = ""
var _may_pass: bool = false


## What it writes to: two at once would spoil it.
func place() -> String:
	return folder.path_join(url)


## Any thread. It ends soon after.
func cancel() -> void:
	_mutex.lock()
	_is_cancelled = true
	_mutex.unlock()


func is_cancelled() -> bool:
	_mutex.lock()
	var result: bool = _is_cancelled
	_mutex.unlock()
	return result


## Any thread. Bytes that have come, and those of the whole file; -1 where that is not known.
func progress() -> Array[int]:
	_mutex.lock()
	var result: Array[int] = [_received, _total]
	_mutex.unlock()
	return result


## The whole of it: an error, or nothing where the file is there.
func run() -> String:
	var address: ModelAddress = ModelAddress.parse(url)
	if address == null:
		return "'%s' is no address of a file; it begins with https://" % url.left(80)
	var made: Error = DirAccess.make_dir_recursive_absolute(folder)
	if made != OK and not DirAccess.dir_exists_absolute(folder):
		return "the folder %s cannot be made: %s" % [folder, error_string(made)]
	_part = PartFile.new(folder, url)
	if not _is_done(_part.open()):
		return _error
	var error: String = _try(address)
	if _part.size == 0:
		_part.remove()
	return CANCELLED if is_cancelled() and not error.is_empty() else error


## As long as it helps.
func _try(address: ModelAddress) -> String:
	var tries: int = 0
	while not is_cancelled():
		var before: int = _part.size
		if _attempt(address):
			return _finish()
		tries = tries + 1 if _part.size <= before else 0
		if not _may_pass or tries >= MOST_TRIES:
			break
		_wait(pause_s * tries)
	return _error


## One request; whether all of the file has come.
func _attempt(address: ModelAddress) -> bool:
	_error = ""
	_may_pass = true
	var answer: HttpGet = HttpGet.new(patience_s, is_cancelled)
	var wanted: PackedStringArray = ["Accept-Encoding: identity"]
	if _part.size > 0:
		wanted.append("Range: bytes=%d-" % _part.size)
		wanted.append("If-Range: " + _part.validator)
	if not answer.open(address, headers, wanted, tls):
		return _fail(answer.error, answer.may_pass)
	match answer.status:
		200:
			if not _begin(answer):
				return false
		206:
			if not _goes_on(answer):
				return false
		416:
			return _ends_early(answer)
		_:
			return _refuse(answer)
	return _is_welcome(address, answer) and _receive(answer)


## All of the file comes.
func _begin(answer: HttpGet) -> bool:
	_beginnings += 1
	if _beginnings > MOST_BEGINNINGS:
		return _fail(
			(
				"the server began anew %d times: its file changes, or it cannot go on after a cut"
				% MOST_BEGINNINGS
			)
		)
	var length: int = answer.headers.get("content-length", "-1").to_int()
	return _is_done(_part.begin(answer.validator(), length))


## The rest of the file comes, if it is that of the same file.
func _goes_on(answer: HttpGet) -> bool:
	var range_given: RegEx = RegEx.create_from_string("^bytes (\\d+)-\\d+/(\\d+|\\*)$")
	var found: RegExMatch = range_given.search(answer.headers.get("content-range", ""))
	var is_same: bool = found != null and found.get_string(1).to_int() == _part.size
	if is_same and found.get_string(2) != "*" and _part.total >= 0:
		is_same = found.get_string(2).to_int() == _part.total
	var validator: String = answer.validator()
	if not validator.is_empty() and validator != _part.validator:
		is_same = false
	return is_same or _forget("the server's file changed meanwhile")


## The server has nothing behind what has come.
func _ends_early(answer: HttpGet) -> bool:
	var total: String = answer.headers.get("content-range", "").trim_prefix("bytes */")
	if total.to_int() != _part.total:
		return _forget("the server's file changed meanwhile")
	return _fail(
		"the server has %d of %s bytes and no more; look for another source" % [_part.size, total]
	)


## What has come is of no use; the next try begins anew.
func _forget(reason: String) -> bool:
	_part.validator = ""
	_part.remove()
	if not _is_done(_part.begin("", -1)):
		return false
	return _fail(reason + "; download it again", true)


func _refuse(answer: HttpGet) -> bool:
	var host: String = ModelAddress.parse(url).host
	var advice: String = "try later" if answer.status >= 500 else "check the address"
	return _fail(
		"%s answered %d: %s" % [host, answer.status, ADVICE.get(answer.status, advice)],
		answer.status >= 500 or answer.status == 429
	)


## Before a byte is kept: whether there is room for it, and no other file in its place.
func _is_welcome(address: ModelAddress, answer: HttpGet) -> bool:
	var name: String = file_name if not file_name.is_empty() else answer.file_name(address)
	path = folder.path_join(ModelAddress.safe_name(name))
	if FileAccess.file_exists(path):
		return _fail("%s is there already; remove it, or choose another folder" % path)
	if answer.headers.get("content-type", "").begins_with("text/html"):
		return _fail(
			"there is a web page at that address and no file; copy the address of its download link"
		)
	_expected = sha256 if not sha256.is_empty() else answer.sha256()
	var more: int = _part.total - _part.size
	var directory: DirAccess = DirAccess.open(folder)
	var space: int = directory.get_space_left() if directory != null else 0
	if _part.total >= 0 and more + MARGIN_BYTES > space:
		return _fail(
			(
				"%s more are needed, but %s are free in %s; make room, or choose another folder"
				% [String.humanize_size(more), String.humanize_size(space), folder]
			)
		)
	return true


func _receive(answer: HttpGet) -> bool:
	_tell_progress()
	while true:
		var bytes: PackedByteArray = answer.read()
		if bytes.is_empty():
			break
		if not _is_done(_part.write(bytes)):
			return false
		if _part.size - bytes.size() < MAGIC.length() and not _has_magic():
			return false
		_tell_progress()
	if not answer.error.is_empty():
		return _fail(answer.error, answer.may_pass)
	if _part.total >= 0 and _part.size < _part.total:
		return _fail(
			(
				"the server ended at %d of %d bytes; start again to go on there"
				% [_part.size, _part.total]
			),
			true
		)
	if _part.total >= 0 and _part.size > _part.total:
		return _forget("the server sent more than the file has")
	return true


func _has_magic() -> bool:
	var begins: String = _part.first_bytes(MAGIC.length()).get_string_from_ascii()
	if begins == MAGIC.left(_part.size):
		return true
	_part.remove()
	return _fail("the file begins with '%s' and not with GGUF: it is no model file" % begins)


## All bytes are there; whether they are the right ones.
func _finish() -> String:
	if _part.size < MAGIC.length():
		_part.remove()
		return "the file has %d bytes and is no model file; check the address" % _part.size
	if not _expected.is_empty():
		var found: String = _part.sha256(is_cancelled)
		if is_cancelled():
			return CANCELLED
		if found != _expected.to_lower():
			_part.remove()
			return (
				"the SHA-256 is %s and should be %s: it is another file or damaged, and was removed"
				% [found, _expected.to_lower()]
			)
	var renamed: Error = _part.finish(path)
	return "" if renamed == OK else "%s cannot be written: %s" % [path, error_string(renamed)]


func _tell_progress() -> void:
	_mutex.lock()
	_received = _part.size
	_total = _part.total
	_mutex.unlock()


func _wait(seconds: float) -> void:
	var end: int = Time.get_ticks_msec() + int(seconds * 1000.0)
	while Time.get_ticks_msec() < end and not is_cancelled():
		OS.delay_msec(10)


func _is_done(result: Error) -> bool:
	if result == OK:
		return true
	return _fail(
		(
			"%s cannot be written: %s; check the folder and the room on the disk"
			% [_part.path, error_string(result)]
		)
	)


func _fail(reason: String, may_pass: bool = false) -> bool:
	_error = reason
	_may_pass = may_pass
	return false
