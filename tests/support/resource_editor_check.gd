extends SceneTree
## Runs in the editor: edits and saves a scene that has exposed resources, tells as JSON what stays.

const SCENE: String = "res://scene.tscn"
const START_FRAMES: int = 20
const EDIT_FRAMES: int = 60
const SAVE_FRAMES: int = 80
const END_FRAMES: int = 100

var _frames: int = 0
var _report: Dictionary = {}


func _process(_delta: float) -> bool:
	_frames += 1
	if _frames == START_FRAMES:
		_report["made"] = _make_scene()
		EditorInterface.open_scene_from_path(SCENE)
	elif _frames == EDIT_FRAMES:
		var saved: Resource = EditorInterface.get_edited_scene_root().get("saved")
		_report["class"] = saved.get_class()
		EditorInterface.edit_resource(saved)
	elif _frames == SAVE_FRAMES:
		_edit()
		EditorInterface.mark_scene_as_unsaved()
		EditorInterface.save_scene()
	elif _frames == END_FRAMES:
		_report["saved"] = FileAccess.get_file_as_string(SCENE)
		_report["loaded"] = _told(load(SCENE).instantiate())
		print("REPORT " + JSON.stringify(_report))
		quit()
	return false


func _make_scene() -> Array:
	var holder: Node = ClassDB.instantiate(&"Holder")
	holder.name = "Holder"
	var saved: Resource = ClassDB.instantiate(&"SavedThing")
	saved.set("level", 0.25)
	saved.set("words", PackedStringArray(["Ж"]))
	saved.set("table", {"a": 1})
	var part: Resource = ClassDB.instantiate(&"SavedPart")
	part.set("weight", 8.0)
	saved.set("part", part)
	holder.set("saved", saved)
	var scene: PackedScene = PackedScene.new()
	scene.pack(holder)
	ResourceSaver.save(scene, SCENE)
	return _told(holder)


func _told(holder: Node) -> Array:
	var saved: Resource = holder.get("saved")
	var told: Array = [saved.get("level"), saved.get("words"), saved.get("table")]
	told.append(saved.get("part").get("weight"))
	holder.free()
	return told


## As a user does: by the inspector's own property editors.
func _edit() -> void:
	var names: PackedStringArray = []
	for each: Node in EditorInterface.get_inspector().find_children(
		"*", "EditorProperty", true, false
	):
		var property: EditorProperty = each
		names.append(property.get_edited_property())
		if property.get_edited_property() == "level":
			property.emit_changed("level", 0.75)
	_report["shown"] = names
