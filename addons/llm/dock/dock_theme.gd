@tool
extends RefCounted
## The editor's own colours and fonts, for the types that the parts of the chat know.

const SECOND: float = 0.72  # how much is left of a text's colour where it matters less
const QUIET: float = 0.1


## [param scale] is that of the editor.
static func make(editor: Theme, scale: float) -> Theme:
	var made: Theme = Theme.new()
	var base: Color = editor.get_color(&"base_color", &"Editor")
	var ink: Color = editor.get_color(&"font_color", &"Editor")
	var accent: Color = editor.get_color(&"accent_color", &"Editor")
	var faint: Color = base.lerp(ink, SECOND)
	var lifted: Color = base.lerp(ink, QUIET)
	var sunk: Color = editor.get_color(&"dark_color_2", &"Editor")
	_add_labels(made, editor, ink, faint)
	_add_buttons(made, accent, faint, scale)
	_add_panel(made, &"UserBubble", _box(lifted, scale, 8.0, 6.0))
	_add_panel(made, &"AssistantBubble", _box(Color.TRANSPARENT, scale, 2.0, 2.0))
	_add_panel(made, &"ReasoningPanel", _lined(_box(sunk, scale, 8.0, 6.0), lifted, scale))
	_add_panel(made, &"CodePanel", _lined(_box(sunk, scale, 8.0, 4.0), lifted, scale))
	_add_panel(made, &"PromptPanel", _lined(_box(sunk, scale, 6.0, 4.0), lifted, scale))
	_add_panel(made, &"PromptPanelFocus", _lined(_box(sunk, scale, 6.0, 4.0), accent, scale))
	var error: Color = editor.get_color(&"error_color", &"Editor")
	_add_panel(made, &"BannerPanel", _lined(_box(base, scale, 8.0, 6.0), error, scale))
	_add_code(made, editor, ink, faint, scale)
	made.set_color(&"code_color", &"MessageText", ink)
	made.set_color(&"code_back_color", &"MessageText", lifted)
	made.set_color(&"link_color", &"MessageText", accent)
	made.set_color(&"faint_color", &"MessageText", faint)
	return made


static func _add_labels(made: Theme, editor: Theme, ink: Color, faint: Color) -> void:
	for type: StringName in [&"HintLabel", &"MutedLabel"] as Array[StringName]:
		made.set_type_variation(type, &"Label")
		made.set_color(&"font_color", type, faint)
	made.set_type_variation(&"ErrorLabel", &"Label")
	made.set_color(&"font_color", &"ErrorLabel", editor.get_color(&"error_color", &"Editor"))
	made.set_type_variation(&"ReasoningText", &"RichTextLabel")
	made.set_color(&"default_color", &"ReasoningText", faint)
	made.set_color(&"default_color", &"RichTextLabel", ink)
	made.set_font(&"normal_font", &"RichTextLabel", editor.get_font(&"main", &"EditorFonts"))
	made.set_font(&"bold_font", &"RichTextLabel", editor.get_font(&"bold", &"EditorFonts"))
	made.set_font(&"italics_font", &"RichTextLabel", editor.get_font(&"doc_italic", &"EditorFonts"))
	made.set_font(&"mono_font", &"RichTextLabel", editor.get_font(&"source", &"EditorFonts"))
	var size: int = editor.get_font_size(&"main_size", &"EditorFonts")
	for name: StringName in [&"normal_font_size", &"bold_font_size", &"italics_font_size"]:
		made.set_font_size(name, &"RichTextLabel", size)
	made.set_font_size(&"mono_font_size", &"RichTextLabel", size)
	made.set_stylebox(&"normal", &"RichTextLabel", StyleBoxEmpty.new())
	made.set_stylebox(&"focus", &"RichTextLabel", StyleBoxEmpty.new())


static func _add_buttons(made: Theme, accent: Color, faint: Color, scale: float) -> void:
	for type: StringName in [&"FlatButton", &"QuietButton", &"FoldButton", &"RoundButton"]:
		made.set_type_variation(type, &"Button")
		made.set_constant(&"icon_max_width", type, roundi(16.0 * scale))
		made.set_stylebox(&"normal", type, _box(Color.TRANSPARENT, scale, 4.0, 2.0))
		made.set_stylebox(&"disabled", type, _box(Color.TRANSPARENT, scale, 4.0, 2.0))
		made.set_color(&"font_color", type, faint)
		made.set_color(&"icon_normal_color", type, faint)
		for state: String in ["hover", "pressed", "focus"]:
			made.set_color("icon_%s_color" % state, type, accent)
		made.set_color(&"icon_disabled_color", type, Color(faint, 0.4))
	made.set_color(&"icon_normal_color", &"RoundButton", accent)
	made.set_type_variation(&"PromptEdit", &"TextEdit")
	for name: StringName in [&"normal", &"focus", &"read_only"] as Array[StringName]:
		made.set_stylebox(name, &"PromptEdit", StyleBoxEmpty.new())


static func _add_code(made: Theme, editor: Theme, ink: Color, faint: Color, scale: float) -> void:
	made.set_type_variation(&"CodeText", &"TextEdit")
	var space: StyleBoxEmpty = StyleBoxEmpty.new()
	space.content_margin_bottom = 10.0 * scale  # where the bar for long lines lies
	for name: StringName in [&"normal", &"focus", &"read_only"] as Array[StringName]:
		made.set_stylebox(name, &"CodeText", space)
	made.set_font(&"font", &"CodeText", editor.get_font(&"source", &"EditorFonts"))
	var size: int = editor.get_font_size(&"main_size", &"EditorFonts")
	made.set_font_size(&"font_size", &"CodeText", size)
	made.set_color(&"font_readonly_color", &"CodeText", ink)
	made.set_color(&"comment_color", &"CodeText", faint)
	# The script editor's colours, which go with the theme where the user left them to it.
	var settings: EditorSettings = EditorInterface.get_editor_settings()
	for name: String in ["keyword", "string", "number", "symbol", "function"]:
		var setting: String = "text_editor/theme/highlighting/%s_color" % name
		made.set_color(name + "_color", &"CodeText", settings.get_setting(setting))


static func _add_panel(made: Theme, type: StringName, box: StyleBox) -> void:
	made.set_type_variation(type, &"PanelContainer")
	made.set_stylebox(&"panel", type, box)


static func _box(back: Color, scale: float, across: float, along: float) -> StyleBoxFlat:
	var box: StyleBoxFlat = StyleBoxFlat.new()
	box.bg_color = back
	box.draw_center = back.a > 0.0
	box.set_corner_radius_all(roundi(4.0 * scale))
	box.content_margin_left = across * scale
	box.content_margin_right = across * scale
	box.content_margin_top = along * scale
	box.content_margin_bottom = along * scale
	return box


static func _lined(box: StyleBoxFlat, line: Color, scale: float) -> StyleBoxFlat:
	box.border_color = line
	box.set_border_width_all(roundi(scale))
	return box
