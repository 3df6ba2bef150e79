@tool
class_name XRayAttention
extends RefCounted
## What the heads of a layer looked at from a token: asked of a node, one question at a time.

const NOWHERE: Vector2i = Vector2i(-1, -1)

## How much each head looked at each token up to that one.
var heads: Array[PackedFloat32Array] = []
## The position and the layer that were told last.
var place: Vector2i = NOWHERE
## Why there are no heads, or empty.
var error: String = ""

var _mean: PackedFloat32Array = []
var _is_asking: bool = false


## Nothing is known any more, and no answer is waited for.
func forget() -> void:
	heads = []
	place = NOWHERE
	error = ""
	_mean = []
	_is_asking = false


## Unless it is known, or an answer is waited for, after which one may ask again.
func ask(llm: LLM, position: int, layer: int) -> void:
	if not _is_asking and position >= 0 and layer >= 0 and place != Vector2i(position, layer):
		_is_asking = true
		llm.xray_attention(position, layer)


## As [signal LLM.xrayed] tells of it.
func take(told: Dictionary) -> void:
	_is_asking = false
	place = Vector2i(told["position"], told["layer"])
	error = told["error"]
	heads.assign(told["heads"])
	_mean = _mean_of_heads()


## Of a head, or, for -1, the mean of all; by token. Empty where that place was not told.
func shares(position: int, layer: int, head: int) -> PackedFloat32Array:
	if heads.is_empty() or place != Vector2i(position, layer):
		return []
	return heads[head] if head >= 0 and head < heads.size() else _mean


## The largest share but that of the first token, where heads look that look for nothing.
static func largest(of_head: PackedFloat32Array) -> float:
	var index: int = largest_index(of_head)
	return of_head[index] if index >= 0 else 1.0


## The token that has it; -1 where there is none.
static func largest_index(of_head: PackedFloat32Array) -> int:
	var best: int = mini(1, of_head.size() - 1)
	for index: int in range(2, of_head.size()):
		if of_head[index] > of_head[best]:
			best = index
	return best


func _mean_of_heads() -> PackedFloat32Array:
	if heads.is_empty():
		return []
	var mean: PackedFloat32Array = heads[0].duplicate()
	for index: int in mean.size():
		for other: int in range(1, heads.size()):
			mean[index] += heads[other][index]
		mean[index] /= heads.size()
	return mean
