class_name Fire
extends Control
## A fire that flickers in every frame, so that a frame which comes late is seen.

const FLAMES: int = 7
const SEGMENTS: int = 10
## From the outside in: the colour, and how large that part of the fire is.
const LAYERS: Array[Array] = [
	[Color(0.86, 0.33, 0.16), 1.0],
	[Color(0.96, 0.6, 0.2), 0.68],
	[Color(1.0, 0.88, 0.5), 0.38],
]
const LOG_COLOR: Color = Color(0.3, 0.2, 0.14)

## Lit by the fire, brighter and darker as it flickers.
@export var glow: CanvasItem

var _noise: FastNoiseLite = FastNoiseLite.new()
var _time: float = 0.0


func _ready() -> void:
	_noise.frequency = 1.0
	_noise.fractal_type = FastNoiseLite.FRACTAL_NONE


func _process(delta: float) -> void:
	_time += delta
	if glow != null:
		glow.modulate.a = 0.75 + 0.25 * _noise.get_noise_1d(_time * 3.0)
	queue_redraw()


func _draw() -> void:
	var ground: Vector2 = Vector2(size.x / 2.0, size.y - 8.0)
	for layer: Array in LAYERS:
		for flame: int in FLAMES:
			_draw_flame(ground, flame, layer[0], layer[1])
	var reach: Vector2 = Vector2(size.x * 0.3, 7.0)
	draw_line(ground - reach, ground + reach, LOG_COLOR, 10.0, true)
	reach.y = -reach.y
	draw_line(ground - reach, ground + reach, LOG_COLOR.lightened(0.08), 10.0, true)


# A tongue that is widest near the ground and bends as it rises.
func _draw_flame(ground: Vector2, flame: int, color: Color, share: float) -> void:
	var place: float = (flame + 0.5) / FLAMES * 2.0 - 1.0
	var flicker: float = _noise.get_noise_2d(_time * 1.8, flame * 9.0)
	var height: float = size.y * share * (0.9 - 0.5 * absf(place)) * (1.0 + 0.5 * flicker)
	var left: PackedVector2Array = []
	var right: PackedVector2Array = []
	for segment: int in SEGMENTS:
		var up: float = segment / (SEGMENTS - 1.0)
		var bend: float = _noise.get_noise_2d(_time * 1.4 - up * 0.7, flame * 5.0) * up
		var middle: float = size.x * (0.24 * place * (1.0 - 0.5 * up) + 0.14 * bend)
		var half: float = size.x * 0.085 * share * (1.0 - up) * (0.8 + up) + 0.5
		var centre: Vector2 = ground + Vector2(middle, -up * height)
		left.append(centre - Vector2(half, 0.0))
		right.append(centre + Vector2(half, 0.0))
	right.reverse()
	draw_colored_polygon(left + right, color)
