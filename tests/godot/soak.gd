extends SceneTree
## Hundreds of requests of several nodes that stop, leave, come back and are freed as they like,
## alone and all at once. Prints its figures; ends with status 0 where each request ended once and
## nothing was left behind. What the engine finds left when it quits, it says itself.

const ASKS: int = 500
const NODES: int = 8  # the last is an echo, which calls a tool
const MODEL: String = "res://.models/gemma-3-270m-q4_k_m.gguf"
const STATE: String = "user://soak.state"
const FOX: String = "The quick brown fox jumps over"
const BEGINNINGS: Array[String] = [
	FOX,
	FOX + " the lazy dog. The lazy dog is a dog that is lazy. The lazy",
	"Once upon a time, in a kingdom far away, there lived",
]
const CALL: String = '<tool_call>{"name": "rest", "arguments": {"frames": %d}}</tool_call>'
const MOST_GROWTH: int = 100  # MB, of the process without a model; a model takes 280
const PATIENCE_MS: int = 60_000

var _hall: Node = Node.new()  # holds all of them
var _warm: LLM = null  # holds the model, so that others come and go
var _crowd: Node = null
var _ends: Dictionary[int, int] = {}  # how often each request has ended
var _reasons: Dictionary[String, int] = {}
var _actions: Dictionary[String, int] = {}
var _figures: Array[Dictionary] = []  # whenever nobody had the model
var _storing: int = 0
var _random: RandomNumberGenerator = RandomNumberGenerator.new()
var _problems: int = 0


func _initialize() -> void:
	Engine.max_fps = 120
	_run.call_deferred()


func _run() -> void:
	_random.seed = 7
	root.add_child(_hall)
	_warm = _new_llm(MODEL)
	_hall.add_child(_warm)
	_check(await _warm.complete_async(FOX) == " the lazy", "the first answer")
	_make_crowd()
	var asked: int = 0
	while asked < ASKS:
		if not await _act():
			continue
		asked += 1
		if asked % 50 == 0:
			await _leave_and_come_back()
			print("after %d asks: %s" % [asked, _figures[-1]])
	await _until_all_ended()
	_check(await _warm.complete_async(FOX) == " the lazy", "the last answer")
	print("%d requests, %s; %s" % [_ends.size(), _reasons, _actions])
	_check(_ends.values().count(1) == _ends.size(), "each request ends once")
	_check(_storing == 0, "each file that is saved or loaded is told of once")
	for counted: String in ["threads", "objects", "engine MB"]:
		_check(_growth(counted) <= 0, "%s grew by %d" % [counted, _growth(counted)])
	var megabytes: int = _growth("process MB")
	_check(megabytes <= MOST_GROWTH, "the process grew by %d MB" % megabytes)
	print("it grew by %d MB" % megabytes)
	_hall.free()
	quit(_problems)


func _check(holds: bool, claim: String) -> void:
	if not holds:
		_problems += 1
		print("FAILED: ", claim)


## For a while nobody has the model, and it is freed. Notes what there is then.
func _leave_and_come_back() -> void:
	root.remove_child(_hall)
	await _frames(40)
	_figures.append(_measured())
	root.add_child(_hall)


## From the first half of the figures to the second, by the least of each: what is freed late is in
## some of them, what is never freed in all that follow.
func _growth(counted: String) -> int:
	var values: Array = _figures.map(func(each: Dictionary) -> int: return each[counted])
	var half: int = values.size() / 2
	return values.slice(half).min() - values.slice(0, half).min()


## One thing that may happen; whether that was a question to a node.
func _act() -> bool:
	while _ends.values().count(0) >= 2 * NODES:  # so that some are answered
		await process_frame
	var llm: LLM = _crowd.get_child(_random.randi_range(0, NODES - 1))
	var dice: float = _random.randf()
	if dice < 0.5:
		_ask(llm)
		return true
	if dice < 0.53:
		_count("stops")
		llm.stop_generation()
	elif dice < 0.545:
		_count("leave and come back")
		_crowd.remove_child(llm)
		_crowd.add_child(llm)
		_crowd.move_child(llm, 0 if llm.model_path == MODEL else NODES - 1)
	elif dice < 0.56:
		_count("freed")
		var path: String = llm.model_path
		llm.free()
		_add_llm(path)
	elif dice < 0.57:
		llm.reset_context()
	elif dice < 0.575:
		_count("all leave and come back")
		_hall.remove_child(_crowd)
		_hall.add_child(_crowd)
	elif dice < 0.58:
		_count("all freed")
		_crowd.free()
		_make_crowd()
	elif dice < 0.62:
		_store()
	elif dice < 0.64:
		_count("embeddings")
		var embedding: LLMEmbedding = _crowd.get_child(NODES)
		_note_request(embedding.embed(BEGINNINGS[_random.randi_range(0, 2)]))
	else:
		await _frames(_random.randi_range(1, 8))
	return false


func _make_crowd() -> void:
	_crowd = Node.new()
	_hall.add_child(_crowd)
	for _number: int in NODES - 1:
		_add_llm(MODEL)
	_add_llm("echo:")
	var embedding: LLMEmbedding = LLMEmbedding.new()
	embedding.model_path = MODEL
	embedding.context_length = 80
	embedding.embedding_finished.connect(
		func(id: int, _vector: PackedFloat32Array) -> void: _note_end(id, "a vector")
	)
	embedding.embedding_failed.connect(
		func(id: int, _error: String) -> void: _note_end(id, "no vector")
	)
	_crowd.add_child(embedding)


## The echo last, before what makes vectors.
func _add_llm(path: String) -> void:
	var llm: LLM = _new_llm(path)
	llm.busy_policy = "replace" if _random.randf() < 0.1 else "queue"
	llm.response_ended.connect(_note_end)
	_crowd.add_child(llm)
	if path == MODEL:
		_crowd.move_child(llm, 0)
	else:
		llm.context_length = 4096
		llm.add_tool(rest, "Waits for some frames.")
		_crowd.move_child(llm, NODES - 1)


func _new_llm(path: String) -> LLM:
	var llm: LLM = LLM.new()
	llm.model_path = path
	llm.context_length = 80
	llm.max_tokens = 2
	llm.temperature = 0.0
	return llm


func _ask(llm: LLM) -> void:
	if llm.model_path != MODEL:
		llm.max_tokens = 0
		_note_request(llm.ask(CALL % _random.randi_range(0, 3)))
		return
	llm.max_tokens = _random.randi_range(1, 5)
	llm.temperature = 0.0 if _random.randf() < 0.5 else 1.2
	var is_held_to: bool = _random.randf() < 0.1
	if is_held_to:
		_count("with a form")
	llm.choices = PackedStringArray(["yes", "no", "not now"] if is_held_to else [])
	var text: String = BEGINNINGS[_random.randi_range(0, 2)] + " " + str(_random.randi_range(0, 9))
	_note_request(llm.ask(text) if _random.randf() < 0.5 else llm.complete(text))


## Saves what a node that has nothing to do was told, with what was computed, or has it loaded.
func _store() -> void:
	var idle: Array = _crowd.get_children().slice(0, NODES - 1).filter(
		func(llm: LLM) -> bool: return not llm.is_answering() and not llm.has_meta(&"stores")
	)
	if idle.is_empty():
		return
	var llm: LLM = idle[_random.randi_range(0, idle.size() - 1)]
	llm.set_meta(&"stores", true)
	_storing += 1
	var is_load: bool = FileAccess.file_exists(STATE) and _random.randf() < 0.5
	_count("loaded" if is_load else "saved")
	var told: Signal = llm.state_loaded if is_load else llm.state_saved
	told.connect(
		func(_error: String) -> void:
			llm.remove_meta(&"stores")
			_storing -= 1,
		CONNECT_ONE_SHOT
	)
	if is_load:
		llm.load_state(STATE)
	else:
		llm.save_state(STATE, true)


func rest(frames: int) -> int:
	_count("tools")
	await _frames(frames)
	return frames


func _note_request(id: int) -> void:
	_ends[id] = _ends.get(id, 0)


func _note_end(id: int, reason: String) -> void:
	_ends[id] = _ends.get(id, 0) + 1
	_reasons[reason] = _reasons.get(reason, 0) + 1


func _count(action: String) -> void:
	_actions[action] = _actions.get(action, 0) + 1


func _until_all_ended() -> void:
	var end: int = Time.get_ticks_msec() + PATIENCE_MS
	while (_ends.values().has(0) or _storing > 0) and Time.get_ticks_msec() < end:
		await process_frame


func _frames(count: int) -> void:
	for _frame: int in count:
		await process_frame


func _measured() -> Dictionary[String, int]:
	return {
		"engine MB": OS.get_static_memory_usage() >> 20,
		"process MB": _process_megabytes(),
		"threads": DirAccess.get_directories_at("/proc/self/task").size(),
		"objects": int(Performance.get_monitor(Performance.OBJECT_COUNT)),
	}


func _process_megabytes() -> int:
	var status: FileAccess = FileAccess.open("/proc/self/status", FileAccess.READ)
	while not status.eof_reached():  # its length is told as 0
		var line: String = status.get_line()
		if line.begins_with("VmRSS:"):
			return line.to_int() / 1024
	return 0
