class_name FrameMeter
extends Label
## Says how many frames a second there are, and how long the longest of them took.

const INTERVAL_S: float = 0.5

var _frames: int = 0
var _elapsed: float = 0.0
var _longest: float = 0.0


func _process(delta: float) -> void:
	_frames += 1
	_elapsed += delta
	_longest = maxf(_longest, delta)
	if _elapsed < INTERVAL_S:
		return
	text = "%.0f fps  ·  longest frame %.0f ms" % [_frames / _elapsed, _longest * 1000.0]
	_frames = 0
	_elapsed = 0.0
	_longest = 0.0
