extends RefCounted
## Runs tests/support/model_server.py while it lives.

const PROGRAM: String = "res://tests/support/model_server.py"
const PYTHON: String = "res://.venv/bin/python"

var _process: Dictionary
var _ports: PackedStringArray = []
var _scheme: String = "http"


## [param certificate] and [param key] are files: of a host of https.
func _init(certificate: String = "", key: String = "") -> void:
	var told: String = OS.get_user_data_dir().path_join("model_server_%d" % OS.get_process_id())
	DirAccess.remove_absolute(told)
	var arguments: PackedStringArray = [ProjectSettings.globalize_path(PROGRAM), told]
	if not certificate.is_empty():
		arguments.append_array([certificate, key])
		_scheme = "https"
	_process = OS.execute_with_pipe(ProjectSettings.globalize_path(PYTHON), arguments)
	while not FileAccess.file_exists(told) and OS.is_process_running(_process["pid"]):
		OS.delay_msec(5)
	_ports = FileAccess.get_file_as_string(told).split(" ")
	DirAccess.remove_absolute(told)


func _notification(what: int) -> void:
	if what == NOTIFICATION_PREDELETE:
		OS.kill(_process["pid"])


func address(name: String) -> String:
	return "%s://127.0.0.1:%s/%s" % [_scheme, _ports[0], name]
