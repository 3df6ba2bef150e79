extends Node
## What a test file extends. Claims are checked and counted; a false one does not end the test.

const MODEL: String = "res://.models/gemma-3-270m-q4_k_m.gguf"

## Read by the runner.
var failures: PackedStringArray = []
var expected_errors: PackedStringArray = []


## Notes a failure, with [param claim], unless [param condition] holds.
func check(condition: bool, claim: String) -> void:
	if not condition:
		failures.append(claim)


func check_equal(found: Variant, wanted: Variant, what: String) -> void:
	check(
		found == wanted, "%s is %s and should be %s" % [what, var_to_str(found), var_to_str(wanted)]
	)


## The test logs an error that contains [param part]; it fails without.
func expect_error(part: String) -> void:
	expected_errors.append(part)


## Lets frames pass until [param condition] holds; false, and a failure, when it never does.
func until(condition: Callable, what: String, seconds: float = 90.0) -> bool:
	var end: int = Time.get_ticks_msec() + int(seconds * 1000.0)
	while not condition.call():
		if Time.get_ticks_msec() > end:
			failures.append("%s did not come in %d s" % [what, seconds])
			return false
		await get_tree().process_frame
	return true


func frames(count: int) -> void:
	for _frame: int in count:
		await get_tree().process_frame


## [param part] lies within [param scene] in large windows and in small ones.
func check_fits(scene: Control, part: Control) -> void:
	var before: Vector2i = get_window().size
	for size: Vector2i in [Vector2i(1920, 1080), Vector2i(480, 360)] as Array[Vector2i]:
		get_window().size = size
		await frames(3)
		var place: Rect2 = part.get_global_rect()
		check(scene.get_global_rect().encloses(place), "it is at %s of %s" % [place, size])
	get_window().size = before


## What the window shows, once the layout has settled; also saved as user://pictures/NAME.png, for
## people to look at. Null where nothing is drawn, as with --headless.
func picture(name: String) -> Image:
	await frames(5)
	if DisplayServer.get_name() == "headless":
		return null
	RenderingServer.force_draw()
	var shown: Image = get_viewport().get_texture().get_image()
	shown.convert(Image.FORMAT_RGB8)
	DirAccess.make_dir_recursive_absolute("user://pictures")
	check_equal(shown.save_png("user://pictures/%s.png" % name), OK, "saving " + name)
	return shown


## As bright as all of [param shown] is, from 0 to 1.
func brightness(shown: Image) -> float:
	var small: Image = shown.duplicate()
	small.resize(1, 1, Image.INTERPOLATE_TRILINEAR)
	return small.get_pixel(0, 0).get_luminance()
