@tool
extends Node
## The node that is selected in the edited scene, for a [ModelManager] in the editor: it gets the
## model that is chosen there, and the FileSystem dock shows what was downloaded.

const PROPERTY: StringName = &"model_path"

var _manager: ModelManager


func _init(manager: ModelManager) -> void:
	_manager = manager


func _ready() -> void:
	_manager.model_chosen.connect(_use)
	_manager.file_changed.connect(_show_file)
	EditorInterface.get_selection().selection_changed.connect(_show_user)
	_show_user()


func _exit_tree() -> void:
	EditorInterface.get_selection().selection_changed.disconnect(_show_user)


## The first selected node that has a model, or null.
func user() -> Node:
	for node: Node in EditorInterface.get_selection().get_selected_nodes():
		if PROPERTY in node:
			return node
	return null


func _show_user() -> void:
	var node: Node = user()
	_manager.user_name = "" if node == null else String(node.name)


func _use(path: String) -> void:
	var node: Node = user()
	if node == null:
		return
	var undo: EditorUndoRedoManager = EditorInterface.get_editor_undo_redo()
	undo.create_action("Use %s" % path.get_file(), UndoRedo.MERGE_DISABLE, node)
	undo.add_do_property(node, PROPERTY, path)
	undo.add_undo_property(node, PROPERTY, node.get(PROPERTY))
	undo.commit_action()


func _show_file(path: String) -> void:
	var local: String = ProjectSettings.localize_path(path)
	var files: EditorFileSystem = EditorInterface.get_resource_filesystem()
	if files.get_filesystem_path(local.get_base_dir()) != null:
		files.update_file(local)
	elif local.begins_with("res://"):
		files.scan()  # its folder is new
