extends SceneTree
## Saves and loads exposed resources, alone and in a scene; tells what came back, as JSON.

var _report: Dictionary = {}


func _initialize() -> void:
	var saved: SavedThing = _make()
	_report["alone"] = _told(_saved_and_loaded(saved, "res://alone.tres"))
	_report["text"] = FileAccess.get_file_as_string("res://alone.tres")
	_report["copy"] = _told(saved.duplicate(true))
	_report["is_another"] = saved.duplicate(true).part != saved.part
	var holder: Holder = Holder.new()
	holder.saved = saved
	var scene: PackedScene = PackedScene.new()
	scene.pack(holder)
	holder.free()
	var made: Holder = _saved_and_loaded(scene, "res://scene.tscn").instantiate()
	_report["in_scene"] = _told(made.saved)
	_report["scene_text"] = FileAccess.get_file_as_string("res://scene.tscn")
	made.free()
	ResourceLoader.load_threaded_request(
		"res://scene.tscn", "", false, ResourceLoader.CACHE_MODE_IGNORE
	)
	made = ResourceLoader.load_threaded_get("res://scene.tscn").instantiate()
	_report["from_a_thread"] = _told(made.saved)
	made.free()
	print("REPORT " + JSON.stringify(_report))
	quit()


func _make() -> SavedThing:
	var saved: SavedThing = SavedThing.new()
	saved.level = 0.25
	saved.words = PackedStringArray(["Ж", "b"])
	saved.table = {"a": 1, "b": [0.5]}
	saved.part = SavedPart.new()
	saved.part.weight = 8.0
	saved.image = Gradient.new()
	return saved


func _saved_and_loaded(resource: Resource, path: String) -> Resource:
	ResourceSaver.save(resource, path)
	return ResourceLoader.load(path, "", ResourceLoader.CACHE_MODE_IGNORE)


func _told(saved: SavedThing) -> Array:
	var image: String = saved.image.get_class() if saved.image else ""
	return [saved.level, saved.words, saved.table, saved.part.weight, image]
