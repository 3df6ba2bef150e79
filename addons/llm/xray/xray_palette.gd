class_name XRayPalette
extends RefCounted
## Colours of the X-ray panel, for light themes and dark ones: what the theme says of a label's text
## tells which it is.

const PIECE_HUES: PackedFloat32Array = [0.6, 0.08, 0.42, 0.78, 0.16, 0.94]
const UNSURE_HUE: float = 0.0
const SURE_HUE: float = 0.37


static func text(control: Control) -> Color:
	return control.get_theme_color(&"font_color", &"Label")


static func muted(control: Control) -> Color:
	return Color(text(control), 0.66)


## Lines and empty boxes.
static func faint(control: Control) -> Color:
	return Color(text(control), 0.14)


static func accent(control: Control) -> Color:
	return Color(0.5529, 0.6471, 0.9529) if is_dark(control) else Color(0.18, 0.32, 0.8)


## Beside [method accent], for another kind of thing.
static func second(control: Control) -> Color:
	return Color(0.95, 0.66, 0.35) if is_dark(control) else Color(0.72, 0.4, 0.05)


## Behind the text of a token; neighbours have different ones.
static func piece(control: Control, index: int) -> Color:
	return _behind(control, PIECE_HUES[index % PIECE_HUES.size()], 0.3)


## Behind a token that was chosen with this probability.
static func sureness(control: Control, probability: float) -> Color:
	return _behind(control, lerpf(UNSURE_HUE, SURE_HUE, sqrt(probability)), 0.42)


## Behind a token that has this part of the largest attention.
static func heat(control: Control, part: float) -> Color:
	return Color(accent(control), 0.8 * part)


static func is_dark(control: Control) -> bool:
	return text(control).get_luminance() > 0.5


static func _behind(control: Control, hue: float, alpha: float) -> Color:
	var is_dark_theme: bool = is_dark(control)
	return Color.from_hsv(hue, 0.6 if is_dark_theme else 0.75, 0.9 if is_dark_theme else 0.8, alpha)
