@tool
extends "driver.gd"
## Asks a real model in the chat's dock; its path is the first word given.

const SECONDS: float = 60.0


func _drive() -> void:
	var dock: Node = await open_chat()
	var llm: LLM = dock.get("llm")
	llm.max_tokens = 4
	dock.get_node("%Models").call(&"choose", OS.get_cmdline_user_args()[0])
	dock.call(&"send", "Hello!")
	var until: float = Time.get_ticks_msec() / 1000.0 + SECONDS
	while llm.is_answering() and Time.get_ticks_msec() / 1000.0 < until:
		await get_tree().process_frame
	report["reason"] = llm.get_end_reason()
	report["error"] = llm.get_last_error()
	report["executor"] = llm.get_stats()["executor"]
	report["tokens"] = llm.get_stats()["generated_tokens"]
	report["status"] = (dock.get_node("%Status") as Label).text
