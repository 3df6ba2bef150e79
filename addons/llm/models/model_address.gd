@tool
class_name ModelAddress
extends RefCounted
## The address of a model file on the web, in its parts.

const LONGEST_NAME: int = 200

var is_secure: bool = true
var host: String = ""
var port: int = 443
## Path and query.
var target: String = "/"


## The parts of [param url]; null where it is no http address. A page that shows a file, on Hugging
## Face, a mirror of it, or GitHub, means the file.
static func parse(url: String) -> ModelAddress:
	var text: String = _of_file(url.strip_edges().replace(" ", "%20"))
	var pattern: RegEx = RegEx.create_from_string(
		"(?i)^(https?)://([a-z0-9.-]+)(?::(\\d{1,5}))?(/[^#]*|\\?[^#]*)?(#.*)?$"
	)
	var found: RegExMatch = pattern.search(text)
	if found == null:
		return null
	var address: ModelAddress = ModelAddress.new()
	address.is_secure = found.get_string(1).to_lower() == "https"
	address.host = found.get_string(2).to_lower()
	address.port = 443 if address.is_secure else 80
	if not found.get_string(3).is_empty():
		address.port = found.get_string(3).to_int()
	address.target = found.get_string(4)
	if not address.target.begins_with("/"):
		address.target = "/" + address.target
	return address


## Where a redirect to [param location] leads from here; null where that is no http address.
func follow(location: String) -> ModelAddress:
	var place: String = location.strip_edges()
	if place.begins_with("//"):
		place = ("https:" if is_secure else "http:") + place
	elif place.begins_with("/"):
		place = origin() + place
	elif not place.contains("://"):
		place = origin() + target.get_slice("?", 0).get_base_dir().path_join(place)
	return parse(place)


## Scheme, host and port: what may see the headers that were meant for it.
func origin() -> String:
	return "%s://%s:%d" % ["https" if is_secure else "http", host, port]


func url() -> String:
	return origin() + target


## The name that the address gives to the file.
func file_name() -> String:
	return safe_name(target.get_slice("?", 0).get_file().uri_decode())


## A file name that a server may have chosen, without what leads to another folder.
static func safe_name(name: String) -> String:
	var safe: String = ""
	for character: String in name.replace("\\", "/").get_file().validate_filename():
		if character.unicode_at(0) >= 32:
			safe += character
	safe = safe.lstrip(".").strip_edges().trim_suffix(".gguf").left(LONGEST_NAME)
	return (safe if not safe.is_empty() else "model") + ".gguf"


## OWNER/NAME/blob/… is a page about a file; the file is at resolve, or at raw on GitHub.
static func _of_file(url: String) -> String:
	var page: RegEx = RegEx.create_from_string(
		"(?i)^(https?://([^/?#]+)/[^/?#]+/[^/?#]+)/(?:blob|resolve)/([^?#]+)"
	)
	var found: RegExMatch = page.search(url)
	if found == null:
		return url
	var place: String = "raw" if found.get_string(2).to_lower() == "github.com" else "resolve"
	return "/".join([found.get_string(1), place, found.get_string(3)])
