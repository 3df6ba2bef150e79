class_name HeadFinder
extends RefCounted
## Finds the head that looks farthest back: of those of all layers, at one token.

## Tokens just before that one, which many heads look at whatever they say.
const NEAR: int = 6

## The layer and the head whose largest share on an earlier token is largest, apart from the first
## token and the nearest ones; (-1, -1) where there is none.
var best: Vector2i = Vector2i(-1, -1)

var _position: int
var _missing: Array[int] = []
var _most: float = 0.0


## Asks [param llm] for the attention of these layers.
func _init(llm: LLM, position: int, layers: Array[int]) -> void:
	_position = position
	_missing.assign(layers)
	llm.xrayed.connect(_on_xrayed)
	for layer: int in layers:
		llm.xray_attention(position, layer)


## Whether all of them have been told.
func is_done() -> bool:
	return _missing.is_empty()


func _on_xrayed(kind: String, told: Dictionary) -> void:
	if kind != "attention" or told["position"] != _position or not told["layer"] in _missing:
		return
	_missing.erase(told["layer"])
	var heads: Array = told["heads"]
	for head: int in heads.size():
		for token: int in range(1, _position - NEAR):
			if heads[head][token] > _most:
				_most = heads[head][token]
				best = Vector2i(told["layer"], head)
