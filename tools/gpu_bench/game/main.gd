extends Node
## Runs the Python module named on the command line, as run.gd does where --script is taken.


func _ready() -> void:
	var words: PackedStringArray = OS.get_cmdline_user_args()
	if words.is_empty() or not ClassDB.class_exists(&"PythonCommand"):
		printerr("main.gd: no module is named, or the llm add-on did not start")
		get_tree().quit(1)
		return
	var command: Node = ClassDB.instantiate(&"PythonCommand")
	command.set(&"module", words[0])
	command.set(&"arguments", words.slice(1))
	add_child(command)
