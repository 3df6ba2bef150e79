class_name PartialJson
extends RefCounted
## Reads a JSON object that is still being written.

## A string's beginning: whole characters and whole escapes, up to its end or that of the text.
const STRING: String = '"((?:[^"\\\\]|\\\\(?:["\\\\/bfnrt]|u[0-9a-fA-F]{4}))*+)'
## The first half of a character that JSON writes as two escapes; the second has not come yet.
const HALF: String = "\\\\u[dD][89abAB][0-9a-fA-F]{2}$"


## As much of the text in [param field] as [param json] has by now. The object must be flat: what
## looks like the field inside a string is told apart, in another object it is not.
static func text_of(json: String, field: String) -> String:
	var found: RegExMatch = RegEx.create_from_string('"%s"\\s*:\\s*%s' % [field, STRING]).search(
		json
	)
	if found == null:
		return ""
	var written: String = RegEx.create_from_string(HALF).sub(found.get_string(1), "")
	return JSON.parse_string('"%s"' % written)
