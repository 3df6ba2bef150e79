class_name SettingsSync
extends RefCounted
## Keeps the objects whose properties are set, the drawer and the remembered settings at the same
## values.

## A setting changed that the model must be loaded anew for.
signal reload_needed

var _owners: Array[Object]
var _panel: SettingsPanel
var _preferences: ChatPreferences
var _defaults: Dictionary[StringName, Variant] = {}


## A setting is a property of the first of [param owners] that has it. The values now are the
## defaults. Over them go the remembered ones, and over those [param overrides], which are not
## remembered.
func _init(
	owners: Array[Object],
	panel: SettingsPanel,
	preferences: ChatPreferences,
	overrides: Dictionary[StringName, Variant]
) -> void:
	_owners = owners
	_panel = panel
	_preferences = preferences
	_defaults = _values()
	var values: Dictionary[StringName, Variant] = _defaults.duplicate()
	values.merge(preferences.settings(), true)
	values.merge(overrides, true)
	_show(values)
	panel.setting_changed.connect(_on_setting_changed)
	panel.reset_requested.connect(_on_reset_requested)


func _owner(name: StringName) -> Object:
	for owner: Object in _owners:
		if name in owner:
			return owner
	return null


func _values() -> Dictionary[StringName, Variant]:
	var values: Dictionary[StringName, Variant] = {}
	for row: ChatSettings.Row in ChatSettings.rows():
		values[row.name] = _owner(row.name).get(row.name)
	return values


func _show(values: Dictionary[StringName, Variant]) -> void:
	for name: StringName in values:
		_owner(name).set(name, values[name])
	for row: ChatSettings.Row in ChatSettings.rows():
		_panel.show_setting(row.name, _owner(row.name).get(row.name))


func _on_setting_changed(name: StringName, value: Variant) -> void:
	var before: Dictionary[StringName, Variant] = _values()
	_owner(name).set(name, value)
	var after: Dictionary[StringName, Variant] = _values()
	for changed: StringName in after:  # a preset changes others, and they change which it is
		if after[changed] != before[changed]:
			_preferences.set_setting(changed, after[changed])
			_panel.show_setting(changed, after[changed])
	if ChatSettings.find(name).reloads:
		reload_needed.emit()


func _on_reset_requested() -> void:
	for name: StringName in _defaults:
		_preferences.set_setting(name, null)
	_show(_defaults)
	reload_needed.emit()
