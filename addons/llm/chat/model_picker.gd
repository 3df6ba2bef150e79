@tool
extends FileDialog
## Picks a GGUF file: with the system's own dialog where there is one.

## The user picked this file.
signal model_chosen(path: String)

const COMFORTABLE_WIDTH: float = 640.0


func _ready() -> void:
	file_selected.connect(model_chosen.emit)


## Opens the dialog in the folder of [param path].
func open_near(path: String) -> void:
	var folder: String = ProjectSettings.globalize_path(path.get_base_dir())
	if DirAccess.dir_exists_absolute(folder):
		# Our own models lie in a folder with a leading dot.
		show_hidden_files = folder.contains("/.")
		current_dir = folder
	# The dialog's own rows do not shrink far enough for the narrowest windows.
	var room: float = (get_parent() as Control).size.x
	content_scale_factor = clampf(room / COMFORTABLE_WIDTH, 0.5, 1.0)
	popup_centered_clamped(Vector2i(820, 560), 0.8)
