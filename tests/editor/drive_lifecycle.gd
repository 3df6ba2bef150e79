@tool
extends "driver.gd"
## Enables and disables the add-on, reloads a scene, plays it and stops it, and uses the chat, many
## times in one session; tells after each what of it is there. The first word given is the path of
## the model that answers.

const TIMES: int = 20
const SCENE: String = "res://main.tscn"
const PLAYED_FRAMES: int = 4


func _drive() -> void:
	report["states"] = []
	EditorInterface.open_scene_from_path(SCENE)
	await frames(5)
	for _time: int in TIMES:
		await _chat()
		EditorInterface.reload_scene_from_path(SCENE)
		await frames(2)
		EditorInterface.play_main_scene()
		await frames(PLAYED_FRAMES)
		report["played"] = report.get("played", 0) + int(EditorInterface.is_playing_scene())
		EditorInterface.stop_playing_scene()
		await wait_for(func() -> bool: return not EditorInterface.is_playing_scene())
		EditorInterface.set_plugin_enabled("llm", false)
		await frames(4)
		report["states"].append(_state())
		EditorInterface.set_plugin_enabled("llm", true)
		await frames(4)


func _chat() -> void:
	var dock: Node = await open_chat()
	var llm: LLM = dock.get("llm")
	llm.max_tokens = 3
	dock.get_node("%Models").call(&"choose", OS.get_cmdline_user_args()[0])
	dock.call(&"send", "Is it there?")
	await wait_for(func() -> bool: return not llm.is_answering())
	var tokens: int = llm.get_stats().get("generated_tokens", 0)
	report["answers"] = report.get("answers", 0) + int(tokens > 0)
	report["executor"] = llm.get_stats().get("executor", "")
	report["error"] = llm.get_last_error()


func _state() -> Dictionary:
	return {
		"nodes": _own_nodes(get_tree().root),
		"orphans": Performance.get_monitor(Performance.OBJECT_ORPHAN_NODE_COUNT),
		"objects": Performance.get_monitor(Performance.OBJECT_COUNT),
		"threads": DirAccess.get_directories_at("/proc/self/task").size(),
	}


## Nodes whose scripts are the add-on's, and those that answer.
func _own_nodes(node: Node) -> Array[String]:
	var found: Array[String] = []
	var script: Script = node.get_script()
	if script != null and script.resource_path.begins_with("res://addons/llm/"):
		found.append(str(node.get_path()))
	for child: Node in node.get_children(true):
		found.append_array(_own_nodes(child))
	return found
