extends "res://tests/godot/llm_case.gd"
## Hundreds of requests of several nodes that stop, leave, come back and are freed as they like.

const ASKS: int = 500
const NODES: int = 8
const BEGINNINGS: Array[String] = [
	"The quick brown fox jumps over",
	"The quick brown fox jumps over the lazy dog. The lazy dog is a dog that is lazy. The lazy",
	"Once upon a time, in a kingdom far away, there lived",
]

var _accepted: Dictionary[int, int] = {}  # how often each request has ended
var _reasons: Dictionary[String, int] = {}
var _random: RandomNumberGenerator = RandomNumberGenerator.new()


func test_every_request_ends_once_and_nothing_is_left() -> void:
	_random.seed = 7
	var warm: Node = make_llm({"max_tokens": 1})  # holds the model, so that others come and go
	await warm.complete_async(FOX)
	var nodes: Array[Node] = []
	for number: int in NODES:
		nodes.append(_new_node())
	var memory: PackedInt64Array = []
	var threads: PackedInt64Array = []
	var asked: int = 0
	while asked < ASKS:
		var place: int = _random.randi_range(0, NODES - 1)
		if await _act(nodes, place):
			asked += 1
		if asked % 100 == 0 and memory.size() == asked / 100 - 1:
			memory.append(OS.get_static_memory_usage())
			threads.append(DirAccess.get_directories_at("/proc/self/task").size())
	await until(func() -> bool: return not _accepted.values().has(0), "the last ends")
	for llm: Node in nodes:
		llm.free()
	await frames(3)
	var ends: Array = _accepted.values()
	check_equal(ends.count(1), ASKS, "requests that ended once")
	check_equal(await warm.complete_async(FOX), " the", "and the model is sound")
	var growth: int = (memory[-1] - memory[1]) >> 20
	check(growth < 20, "memory grew by %d MB: %s" % [growth, memory])
	check(threads[-1] <= threads[0], "no threads are left behind: %s" % threads)
	print("        %d asks, %s; MB of the engine %s" % [ASKS, _reasons, _in_megabytes(memory)])


## One thing that may happen to a node; whether that was a request.
func _act(nodes: Array[Node], place: int) -> bool:
	var llm: Node = nodes[place]
	while _accepted.values().count(0) >= 2 * NODES:  # so that some are answered
		await frames(1)
	var dice: float = _random.randf()
	if dice < 0.5:
		_ask(llm)
		return true
	if dice < 0.53:
		llm.stop_generation()
	elif dice < 0.545:
		remove_child(llm)
		add_child(llm)
	elif dice < 0.56:
		llm.free()
		nodes[place] = _new_node()
	elif dice < 0.57:
		llm.reset_context()
	else:
		await frames(_random.randi_range(1, 8))
	return false


func _new_node() -> Node:
	var policy: String = "replace" if _random.randf() < 0.1 else "queue"
	var settings: Dictionary = {"busy_policy": policy, "context_length": 80}
	var llm: Node = make_llm(settings)
	llm.response_ended.connect(_on_ended)
	return llm


func _ask(llm: Node) -> void:
	llm.max_tokens = _random.randi_range(1, 6)
	llm.temperature = 0.0 if _random.randf() < 0.5 else 1.2
	var text: String = BEGINNINGS[_random.randi_range(0, 2)] + " " + str(_random.randi_range(0, 9))
	var id: int = llm.ask(text) if _random.randf() < 0.5 else llm.complete(text)
	_accepted[id] = _accepted.get(id, 0)


func _on_ended(id: int, reason: String) -> void:
	_accepted[id] = _accepted.get(id, 0) + 1
	_reasons[reason] = _reasons.get(reason, 0) + 1


func _in_megabytes(sizes: PackedInt64Array) -> PackedInt64Array:
	var found: PackedInt64Array = []
	for size: int in sizes:
		found.append(size >> 20)
	return found
