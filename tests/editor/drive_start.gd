@tool
extends "driver.gd"
## Tells when the editor was ready, in milliseconds after the engine's start, and for how many of
## them the main thread had a core.


func _drive() -> void:
	report["ready_ms"] = Time.get_ticks_usec() / 1000.0
	var file: FileAccess = FileAccess.open("/proc/self/schedstat", FileAccess.READ)
	report["busy_ms"] = file.get_line().get_slice(" ", 0).to_float() / 1e6
	report["class"] = ClassDB.class_exists(&"LLM")
