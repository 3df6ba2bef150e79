class_name SettingsSync
extends RefCounted
## Keeps the [LLM] node, the drawer and the remembered settings at the same values.

## A setting changed that the model must be loaded anew for.
signal reload_needed

var _llm: LLM
var _panel: SettingsPanel
var _preferences: ChatPreferences
var _defaults: Dictionary[StringName, Variant] = {}


## The node's values now are the defaults. Over them go the remembered ones, and over those
## [param overrides], which are not remembered.
func _init(
	llm: LLM,
	panel: SettingsPanel,
	preferences: ChatPreferences,
	overrides: Dictionary[StringName, Variant]
) -> void:
	_llm = llm
	_panel = panel
	_preferences = preferences
	for row: ChatSettings.Row in ChatSettings.rows():
		_defaults[row.name] = llm.get(row.name)
	var values: Dictionary[StringName, Variant] = _defaults.duplicate()
	values.merge(preferences.settings(), true)
	values.merge(overrides, true)
	_show(values)
	panel.setting_changed.connect(_on_setting_changed)
	panel.reset_requested.connect(_on_reset_requested)


func _show(values: Dictionary[StringName, Variant]) -> void:
	for name: StringName in values:
		_llm.set(name, values[name])
		_panel.show_setting(name, values[name])


func _on_setting_changed(name: StringName, value: Variant) -> void:
	_llm.set(name, value)
	_preferences.set_setting(name, value)
	if ChatSettings.find(name).reloads:
		reload_needed.emit()


func _on_reset_requested() -> void:
	for name: StringName in _defaults:
		_preferences.set_setting(name, null)
	_show(_defaults)
	reload_needed.emit()
