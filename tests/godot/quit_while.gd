extends SceneTree
## Quits while an LLM node is at what the argument says: idle, loading or answering.

var _phase: String = OS.get_cmdline_user_args()[0]


func _initialize() -> void:
	Engine.max_fps = 120
	_run.call_deferred()


func _run() -> void:
	var llm: Node = ClassDB.instantiate(&"LLM")
	llm.set(&"model_path", "res://.models/gemma-3-270m-q4_k_m.gguf")
	root.add_child(llm)
	match _phase:
		"loading":
			llm.call(&"complete", "The quick brown fox")
			await Signal(llm, &"load_progress")
		"answering":
			llm.call(&"complete", "The quick brown fox")
			await Signal(llm, &"response_updated")
	print("quitting while " + _phase)
	quit()
