extends "res://tests/godot/case.gd"
## What tests of the LLM node share.

const Recorder: GDScript = preload("res://tests/godot/recorder.gd")

const FOX: String = "The quick brown fox jumps over"
const FOX_TOKENS: Array[int] = [506, 31770, 4799, 236761]


## Whether there is a GPU to run models on, a software one included.
func has_gpu() -> bool:
	return RenderingServer.get_rendering_device() != null


## A node inside the tree, as [method new_llm] makes it.
func make_llm(settings: Dictionary = {}) -> Node:
	var llm: Node = new_llm(settings)
	add_child(llm)
	return llm


## A node that answers greedily and briefly, on the GPU where there is one.
func new_llm(settings: Dictionary = {}) -> Node:
	var llm: Node = ClassDB.instantiate(&"LLM")
	var all: Dictionary = {
		"model_path": MODEL,
		"context_length": 256,
		"temperature": 0.0,
		"max_tokens": 4,
	}
	all.merge(settings, true)
	for property: String in all:
		llm.set(property, all[property])
	return llm


## A recorder of [param llm], typed by duck: see recorder.gd.
func record(llm: Node) -> RefCounted:
	return Recorder.new(llm)


func ended(recorder: RefCounted, id: int) -> bool:
	return await until(func() -> bool: return recorder.has_ended(id), "the end of %d" % id)
