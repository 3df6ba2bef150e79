extends "res://tests/godot/case.gd"
## Every text of the theme can be read on what lies behind it.

const THEME: Theme = preload("res://scenes/theme.tres")
## What WCAG asks of text of ordinary size.
const ENOUGH: float = 4.5
## Type and name of a text's colour, type and name of the box behind it.
const PAIRS: Array[Array] = [
	["Label", "font_color", "Panel", "panel"],
	["TitleLabel", "font_color", "Panel", "panel"],
	["MutedLabel", "font_color", "Panel", "panel"],
	["MutedLabel", "font_color", "TopBarPanel", "panel"],
	["MutedLabel", "font_color", "DrawerPanel", "panel"],
	["MutedLabel", "font_color", "BannerPanel", "panel"],
	["ErrorLabel", "font_color", "BannerPanel", "panel"],
	["RichTextLabel", "default_color", "Panel", "panel"],
	["RichTextLabel", "default_color", "UserBubble", "panel"],
	["ReasoningText", "default_color", "Panel", "panel"],
	["TextEdit", "font_color", "PromptPanel", "panel"],
	["TextEdit", "font_placeholder_color", "PromptPanel", "panel"],
	["LineEdit", "font_color", "LineEdit", "normal"],
	["Button", "font_color", "Button", "normal"],
	["Button", "font_hover_color", "Button", "hover"],
	["Button", "font_pressed_color", "Button", "pressed"],
	["ChipButton", "font_color", "ChipButton", "normal"],
	["ModeButton", "font_color", "PromptPanel", "panel"],
	["ModeButton", "font_pressed_color", "ModeButton", "pressed"],
	["RoundButton", "icon_normal_color", "RoundButton", "normal"],
	["FlatButton", "icon_normal_color", "TopBarPanel", "panel"],
	["PopupMenu", "font_color", "PopupMenu", "panel"],
	["TooltipLabel", "font_color", "TooltipPanel", "panel"],
	["ItemList", "font_selected_color", "ItemList", "selected"],
]


func test_contrast() -> void:
	for pair: Array in PAIRS:
		var text: Color = _color(pair[1], pair[0])
		var box: StyleBoxFlat = _box(pair[3], pair[2])
		var contrast: float = _contrast(text, box.bg_color)
		check(contrast >= ENOUGH, "%s has a contrast of %.2f" % [" ".join(pair), contrast])


## A variation has what its base has.
func _color(color: String, type: String) -> Color:
	while not THEME.has_color(color, type):
		type = THEME.get_type_variation_base(type)
	return THEME.get_color(color, type)


func _box(box: String, type: String) -> StyleBoxFlat:
	while not THEME.has_stylebox(box, type):
		type = THEME.get_type_variation_base(type)
	return THEME.get_stylebox(box, type)


func _contrast(one: Color, other: Color) -> float:
	var lights: Array[float] = [_luminance(one), _luminance(other)]
	return (lights.max() + 0.05) / (lights.min() + 0.05)


## As WCAG 2 defines it.
func _luminance(color: Color) -> float:
	var linear: Color = color.srgb_to_linear()
	return 0.2126 * linear.r + 0.7152 * linear.g + 0.0722 * linear.b
