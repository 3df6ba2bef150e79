@tool
extends RefCounted
## A file on the web: asks for it, follows redirects to other hosts, and reads its bytes piece by
## piece. It waits, so it belongs on a thread.

const MOST_REDIRECTS: int = 10
const REDIRECTS: Array[int] = [301, 302, 303, 307, 308]
const CHUNK_BYTES: int = 1 << 18
const WAIT_USEC: int = 2000

## Of the answer; 0 where none came.
var status: int = 0
## Of the answer, by names in lower case.
var headers: Dictionary[String, String] = {}
## As [member headers], but of the redirects on the way there, too.
var all_headers: Dictionary[String, String] = {}
## What went wrong, and what to do; empty while nothing has.
var error: String = ""
## Whether to ask again may help against the [member error].
var may_pass: bool = false

var _client: HTTPClient = HTTPClient.new()
var _address: ModelAddress
var _patience_s: float
var _is_cancelled: Callable


## It gives up where nothing comes for [param patience_s] seconds, or [param is_cancelled] says so.
func _init(patience_s: float, is_cancelled: Callable) -> void:
	_patience_s = patience_s
	_is_cancelled = is_cancelled
	_client.read_chunk_size = CHUNK_BYTES


## Asks for the file; false where that failed. [param own_headers] go to the first host alone, as
## they may hold a password; [param tls] is for hosts with certificates of their own.
func open(
	address: ModelAddress,
	own_headers: PackedStringArray,
	common_headers: PackedStringArray,
	tls: TLSOptions
) -> bool:
	var first: String = address.origin()
	for _hop: int in MOST_REDIRECTS + 1:
		_address = address
		var wanted: PackedStringArray = common_headers.duplicate()
		if address.origin() == first:
			wanted.append_array(own_headers)
		if not _connect(tls) or not _request(wanted):
			return false
		if status not in REDIRECTS:
			return true
		var next: ModelAddress = address.follow(headers.get("location", ""))
		if next == null:
			return _fail(
				(
					"%s leads on to '%s', which is no web address; check the address"
					% [address.host, headers.get("location", "")]
				)
			)
		if address.is_secure and not next.is_secure:
			return _fail(
				(
					"%s leads on to %s without encryption; look for another source"
					% [address.host, next.host]
				)
			)
		address = next
	return _fail("the address leads on more than %d times; check it" % MOST_REDIRECTS)


## The next bytes; empty at the end, and where it failed.
func read() -> PackedByteArray:
	var started: int = Time.get_ticks_msec()
	while _client.get_status() == HTTPClient.STATUS_BODY:
		if _has_to_end(started, "sends nothing more"):
			return []
		_client.poll()
		if _client.get_status() != HTTPClient.STATUS_BODY:
			break
		var bytes: PackedByteArray = _client.read_response_body_chunk()
		if not bytes.is_empty():
			return bytes
		OS.delay_usec(WAIT_USEC)
	if _client.get_status() == HTTPClient.STATUS_CONNECTION_ERROR:
		_fail_for_now("the connection to %s was cut; start again to go on there" % _address.host)
	return []


## The name that the server gives to the file, or else the address that was asked for.
func file_name(address: ModelAddress) -> String:
	var disposition: String = headers.get("content-disposition", "")
	var extended: RegEx = RegEx.create_from_string("(?i)filename\\*=UTF-8''([^;\\s]+)")
	var found: RegExMatch = extended.search(disposition)
	if found != null:
		return found.get_string(1).uri_decode()
	found = RegEx.create_from_string('(?i)filename="?([^";]+)"?').search(disposition)
	return address.file_name() if found == null else found.get_string(1)


## By what the server knows the file again: If-Range takes no weak ETag. Empty where it does not.
func validator() -> String:
	var tag: String = headers.get("etag", "")
	return tag if tag.begins_with('"') else headers.get("last-modified", "")


## The file's SHA-256, which Hugging Face names where it leads on to the host that has the file.
## Empty where that is not known.
func sha256() -> String:
	var tag: String = all_headers.get("x-linked-etag", "")
	if tag.is_empty() and all_headers.has("x-repo-commit"):
		tag = all_headers.get("etag", "")
	tag = tag.replace('"', "").to_lower()
	return tag if tag.length() == 64 and tag.is_valid_hex_number() else ""


func _connect(tls: TLSOptions) -> bool:
	_client.close()
	var options: TLSOptions = null
	if _address.is_secure:
		options = tls if tls != null else TLSOptions.client()
	_client.connect_to_host(_address.host, _address.port, options)
	var started: int = Time.get_ticks_msec()
	while (
		_client.get_status() in [HTTPClient.STATUS_RESOLVING, HTTPClient.STATUS_CONNECTING]
		and not _has_to_end(started, "does not answer")
	):
		_client.poll()
		OS.delay_usec(WAIT_USEC)
	match _client.get_status():
		HTTPClient.STATUS_CONNECTED:
			return true
		HTTPClient.STATUS_CANT_RESOLVE:
			return _fail_for_now(
				"there is no host %s; check the address and the network" % _address.host
			)
		HTTPClient.STATUS_TLS_HANDSHAKE_ERROR:
			return _fail(
				(
					"%s has no certificate that this system trusts; check address and clock"
					% _address.host
				)
			)
	return _fail_for_now(
		"%s takes no connections at port %d; check the network" % [_address.host, _address.port]
	)


func _request(wanted: PackedStringArray) -> bool:
	status = 0
	headers.clear()
	_client.request(HTTPClient.METHOD_GET, _address.target, wanted)
	var started: int = Time.get_ticks_msec()
	while (
		_client.get_status() == HTTPClient.STATUS_REQUESTING
		and not _has_to_end(started, "does not answer")
	):
		_client.poll()
		OS.delay_usec(WAIT_USEC)
	if not _client.has_response():
		return _fail_for_now(
			"%s closed the connection without an answer; try later" % _address.host
		)
	status = _client.get_response_code()
	for line: String in _client.get_response_headers():
		var name: String = line.get_slice(":", 0).strip_edges().to_lower()
		headers[name] = line.substr(line.find(":") + 1).strip_edges()
	all_headers.merge(headers, true)
	return true


func _has_to_end(started: int, what: String) -> bool:
	if _is_cancelled.call():
		_fail_for_now("cancelled")
	elif Time.get_ticks_msec() - started > _patience_s * 1000.0:
		_fail_for_now(
			"%s %s, for %d s; start again to go on there" % [_address.host, what, _patience_s]
		)
	return not error.is_empty()


## The first reason counts.
func _fail(reason: String) -> bool:
	if error.is_empty():
		error = reason
	_client.close()
	return false


func _fail_for_now(reason: String) -> bool:
	may_pass = may_pass or error.is_empty()
	return _fail(reason)
