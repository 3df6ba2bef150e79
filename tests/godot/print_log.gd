extends Logger
## Collects what is printed, on any thread.

var _mutex: Mutex = Mutex.new()
var _text: String = ""


func text() -> String:
	_mutex.lock()
	var printed: String = _text
	_mutex.unlock()
	return printed


func _log_message(message: String, is_error: bool) -> void:
	if is_error:
		return
	_mutex.lock()
	_text += message
	_mutex.unlock()
