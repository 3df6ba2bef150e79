class_name SettingsPanel
extends PanelContainer
## The drawer that edits the settings. Emits each change; whoever listens applies it.

## The user changed the setting [param name].
signal setting_changed(name: StringName, value: Variant)
## The user wants the settings as they were at the first start.
signal reset_requested
## The user wants the drawer out of the way.
signal close_requested

const ROW: PackedScene = preload("res://scenes/chat/setting_row.tscn")

var _rows: Dictionary[StringName, SettingRow] = {}

@onready var _list: VBoxContainer = %Rows
@onready var _reset: Button = %Reset
@onready var _close: Button = %Close


func _ready() -> void:
	_reset.pressed.connect(reset_requested.emit)
	_close.pressed.connect(close_requested.emit)
	for row: ChatSettings.Row in ChatSettings.rows():
		var editor: SettingRow = ROW.instantiate()
		_list.add_child(editor)
		editor.edit(row)
		editor.changed.connect(_on_row_changed.bind(row.name))
		_rows[row.name] = editor


## Shows [param value] for the setting [param name].
func show_setting(name: StringName, value: Variant) -> void:
	_rows[name].value = value


## Puts the keyboard's focus into the drawer.
func focus_first() -> void:
	_close.grab_focus()


func _on_row_changed(value: Variant, name: StringName) -> void:
	setting_changed.emit(name, value)
