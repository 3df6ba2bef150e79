extends Node
## Added to an exported demo by an override.cfg beside it: uses the game as a player does, prints
## what it says as REPORT {JSON}, and quits. The demos' classes are not all in one game, so that
## they are not named here.

const PROMPT: String = "The quick brown fox jumps over"
const GREETING: String = "Good morning!"
const LOAD_SECONDS: float = 60.0

var _report: Dictionary = {"features": [], "errors": []}


func _ready() -> void:
	for feature: String in ["template", "editor", "release"]:
		if OS.has_feature(feature):
			_report["features"].append(feature)
	await get_tree().process_frame
	await get_tree().process_frame
	var found: Array[Node] = get_tree().root.find_children("*", "LLM", true, false)
	if found.is_empty():
		_report["errors"].append("there is no LLM node")
	else:
		await _use(found[0])
	print("REPORT " + JSON.stringify(_report))
	get_tree().quit()


func _use(llm: LLM) -> void:
	var waited: float = 0.0
	while llm.is_loading() and waited < LOAD_SECONDS:
		await get_tree().process_frame
		waited += get_process_delta_time()
	if not llm.get_last_error().is_empty():
		_report["errors"].append(llm.get_last_error())
		return
	_report["executor"] = llm.get_stats()["executor"]
	var demo: Node = llm.owner
	if demo.has_method(&"send"):  # the chat
		llm.max_tokens = 24
		llm.sampling.temperature = 0.0
		demo.call(&"send", PROMPT)
		_report["said"] = (await llm.response_finished)[1]
	else:
		demo.call(&"say", GREETING)
		_report["said"] = JSON.parse_string((await llm.response_finished)[1])["say"]
		await get_tree().process_frame
		_report["shown"] = (demo.get_node(^"%Speech") as Label).text
