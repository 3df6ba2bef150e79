extends "res://tests/godot/llm_case.gd"
## The recipes for game authors, as they stand there: each is run, and prints what stands below it.

const RECIPES: String = "res://docs/recipes.md"
const PRINT_LOG: String = "res://tests/godot/print_log.gd"
const VARIES: String = "…"
const NEED_THE_MODEL: PackedStringArray = [
	"Answers in JSON",
	"Answers of another form",
	"How an answer is drawn",
	"Texts that mean the same",
	"What a character remembers",
]
## What the echo says, where a model would call a tool.
const CALLS: Dictionary[String, String] = {
	"What does the bow cost?": '{"name": "get_price", "arguments": {"item": "bow"}}',
	"Fetch me a sword.": '{"name": "fetch", "arguments": {"item": "sword"}}',
	"Walk three steps north.": '{"name": "walk", "arguments": {"direction": "north", "count": 3}}',
	"Fly three steps up.": '{"name": "walk", "arguments": {"direction": "up", "count": 3}}',
}


class Recipe:
	var heading: String = ""
	var code: String = ""
	var prints: String = ""


func test_every_recipe_prints_what_stands_below_it() -> void:
	var recipes: Array[Recipe] = _recipes()
	check(recipes.size() >= 15, "there are %d recipes" % recipes.size())
	var kept: Node = make_llm({"context_length": 1024})  # so that the model loads once
	kept.start_worker()
	await kept.worker_started
	for recipe: Recipe in recipes:
		await _run(recipe)


## Of each block of GDScript, its heading and the block of text below it.
func _recipes() -> Array[Recipe]:
	var found: Array[Recipe] = []
	for section: String in FileAccess.get_file_as_string(RECIPES).split("\n## ").slice(1):
		var blocks: PackedStringArray = section.split("```")
		for place: int in range(1, blocks.size(), 2):
			var kind: String = blocks[place].get_slice("\n", 0)
			var text: String = blocks[place].trim_prefix(kind + "\n")
			if kind == "gdscript":
				found.append(Recipe.new())
				found[-1].heading = section.get_slice("\n", 0)
				found[-1].code = text
			elif kind == "text":
				found[-1].prints = text
	return found


func _run(recipe: Recipe) -> void:
	var started: int = Time.get_ticks_msec()
	check(not recipe.prints.is_empty(), "'%s' says what it prints" % recipe.heading)
	var script: GDScript = GDScript.new()
	script.source_code = _with_calls(recipe.code)
	if script.reload() != OK:
		failures.append("'%s' does not compile" % recipe.heading)
		return
	var scene: Node = ClassDB.instantiate(script.get_instance_base_type())
	for child: Node in _children(recipe):
		scene.add_child(child)
	scene.set_script(script)
	if not ClassDB.class_exists(&"Logger"):
		print("        this engine has no Logger: '%s' is compiled, and not run" % recipe.heading)
		scene.free()
		return
	var printed: RefCounted = (load(PRINT_LOG) as GDScript).new()
	OS.call(&"add_logger", printed)
	add_child(scene)
	var pattern: RegEx = _pattern(recipe.prints)
	var is_over: Callable = func() -> bool: return pattern.search(printed.text()) != null
	if await until(is_over, "what '%s' prints" % recipe.heading, 30.0):
		await frames(5)  # in which there is no more of it
		check(is_over.call(), "'%s' printed more than it says" % recipe.heading)
	OS.call(&"remove_logger", printed)
	if not is_over.call():
		failures.append("'%s' printed:\n%s" % [recipe.heading, printed.text()])
	scene.free()
	print("        %s (%.1f s)" % [recipe.heading, (Time.get_ticks_msec() - started) / 1000.0])


## The nodes that it names.
func _children(recipe: Recipe) -> Array[Node]:
	var found: Array[Node] = []
	var declared: RegEx = RegEx.create_from_string("@onready var \\w+: (\\w+) = \\$(\\w+)")
	for node: RegExMatch in declared.search_all(recipe.code):
		var child: Node = ClassDB.instantiate(node.get_string(1))
		child.name = node.get_string(2)
		child.set(&"context_length", 1024)
		child.set(&"model_path", MODEL if recipe.heading in NEED_THE_MODEL else "echo:")
		child.set(&"temperature", 0.0)
		child.set(&"max_tokens", 24 if recipe.heading in NEED_THE_MODEL else 0)
		found.append(child)
	return found


## The recipe's code, in which the echo calls tools.
func _with_calls(code: String) -> String:
	for question: String in CALLS:
		code = code.replace(question, ("<tool_call>%s</tool_call>" % CALLS[question]).c_escape())
	return code


func _pattern(prints: String) -> RegEx:
	var parts: PackedStringArray = []
	for part: String in prints.strip_edges().split(VARIES):
		parts.append("\\Q%s\\E" % part)
	return RegEx.create_from_string("(?s)^\\s*%s\\s*$" % ".+".join(parts))
