extends SceneTree
## Makes a pack: PACK TARGET SOURCE [TARGET SOURCE…], targets being res:// addresses.


func _initialize() -> void:
	var words: PackedStringArray = OS.get_cmdline_user_args()
	var packer: PCKPacker = PCKPacker.new()
	var error: Error = packer.pck_start(words[0])
	for index: int in range(1, words.size(), 2):
		if error == OK:
			error = packer.add_file(words[index], words[index + 1])
	if error == OK:
		error = packer.flush()
	if error != OK:
		printerr("Error: %s: %s" % [words[0], error_string(error)])
	quit(0 if error == OK else 1)
