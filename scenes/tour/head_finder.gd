class_name HeadFinder
extends RefCounted
## Finds the head that looks farthest back: of those of all layers, at one token.

## Tokens just before that one, which many heads look at whatever they say.
const NEAR: int = 6


## The layer and the head whose largest share on an earlier token is largest, apart from the first
## token and the nearest ones; (-1, -1) where there is none.
static func search(llm: LLM, position: int, layers: PackedInt32Array) -> Vector2i:
	var missing: Array[int] = []
	for layer: int in layers:
		missing.append(layer)
		llm.xray_attention(position, layer)
	var best: Vector2i = Vector2i(-1, -1)
	var most: float = 0.0
	while not missing.is_empty():
		var told: Array = await llm.xrayed
		if told[0] != "attention" or told[1]["position"] != position:
			continue
		missing.erase(told[1]["layer"])
		var heads: Array = told[1]["heads"]
		for head: int in heads.size():
			for token: int in range(1, position - NEAR):
				if heads[head][token] > most:
					most = heads[head][token]
					best = Vector2i(told[1]["layer"], head)
	return best
