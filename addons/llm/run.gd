extends SceneTree
## Runs a Python module inside the engine and quits with what it returns:
## [codeblock lang=text]
## godot --path . --script res://addons/llm/run.gd -- MODULE ARGUMENTS…
## [/codeblock]


func _initialize() -> void:
	var arguments: PackedStringArray = OS.get_cmdline_user_args()
	if arguments.is_empty():
		printerr("run.gd: name a Python module or a .py file after --")
		quit(2)
		return
	if not ClassDB.class_exists(&"PythonCommand"):
		printerr("run.gd: the llm add-on did not start; its own message is above")
		quit(1)
		return
	var command: Node = ClassDB.instantiate(&"PythonCommand")
	command.set(&"module", arguments[0])
	command.set(&"arguments", arguments.slice(1))
	root.add_child.call_deferred(command)
