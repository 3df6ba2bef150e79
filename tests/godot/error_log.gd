extends Logger
## Collects the errors, not the warnings, that the engine and its scripts log on any thread.

var _mutex: Mutex = Mutex.new()
var _errors: PackedStringArray = []


## The errors since the last call.
func take() -> PackedStringArray:
	_mutex.lock()
	var taken: PackedStringArray = _errors
	_errors = []
	_mutex.unlock()
	return taken


func _log_error(
	function: String,
	file: String,
	line: int,
	code: String,
	rationale: String,
	_editor_notify: bool,
	error_type: int,
	_script_backtraces: Array[ScriptBacktrace]
) -> void:
	if error_type == ERROR_TYPE_WARNING:
		return
	var text: String = "%s %s (%s, %s:%d)" % [rationale, code, function, file, line]
	_mutex.lock()
	_errors.append(text.strip_edges())
	_mutex.unlock()
