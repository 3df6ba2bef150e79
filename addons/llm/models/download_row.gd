@tool
class_name DownloadRow
extends VBoxContainer
## A download that runs, was stopped or has failed.

## The file is there.
signal finished(path: String)
## It is not wanted any more, and what had come is removed.
signal discarded

const SPEED_WINDOW_S: float = 3.0

var download: ModelDownload = ModelDownload.new()

var _was_at: Array[Vector2] = []  # seconds and bytes, of the latest seconds

@onready var _name: Label = %Name
@onready var _state: Label = %State
@onready var _bar: ProgressBar = %Bar
@onready var _toggle: Button = %Toggle
@onready var _discard: Button = %Discard


func _init() -> void:
	add_child(download)


func _ready() -> void:
	download.progressed.connect(_on_progressed)
	download.ended.connect(_on_ended)
	_toggle.pressed.connect(_on_toggle_pressed)
	_discard.pressed.connect(discard)
	var address: ModelAddress = ModelAddress.parse(download.url)
	_name.text = address.file_name() if address != null else download.url
	_name.tooltip_text = download.url
	download.look()
	_show_place()
	_show(_stopped())


func start() -> void:
	_was_at.clear()
	download.start()
	_show("asking %s …" % _host())


func discard() -> void:
	download.cancel()
	if download.is_running():
		await download.ended
	download.discard()
	discarded.emit()


func state() -> String:
	return _state.text


func _on_toggle_pressed() -> void:
	if download.is_running():
		download.cancel()
	else:
		start()


func _on_progressed(received: int, total: int) -> void:
	_show_place()
	_note_place(received)
	if received == total:
		_show("checking …")
		return
	var parts: PackedStringArray = [_place()]
	var speed: float = _speed()
	if speed > 0.0:
		parts.append(String.humanize_size(int(speed)) + "/s")
		if total >= 0:
			parts.append(_duration((total - received) / speed) + " left")
	_show(", ".join(parts))


func _on_ended(error: String) -> void:
	if error.is_empty():
		finished.emit(download.path)
	elif error == ModelDownload.CANCELLED:
		_show(_stopped())
	else:
		_show(error)


func _stopped() -> String:
	return "stopped at " + _place()


func _place() -> String:
	var came: String = String.humanize_size(download.received)
	if download.total < 0:
		return came
	return "%s of %s" % [came, String.humanize_size(download.total)]


func _show_place() -> void:
	_bar.indeterminate = download.total < 0
	_bar.value = download.received / float(maxi(download.total, 1))


func _show(text: String) -> void:
	_state.text = text
	_toggle.text = "Stop" if download.is_running() else "Go On"
	_bar.visible = download.is_running() or download.received > 0


func _note_place(received: int) -> void:
	var now: float = Time.get_ticks_msec() / 1000.0
	_was_at.append(Vector2(now, received))
	while _was_at[0].x < now - SPEED_WINDOW_S:
		_was_at.remove_at(0)


## Bytes a second, of late; 0 where that is not known.
func _speed() -> float:
	var span: Vector2 = _was_at[-1] - _was_at[0]
	return span.y / span.x if span.x > 0.5 else 0.0


func _duration(seconds: float) -> String:
	if seconds < 90.0:
		return "%d s" % ceili(seconds)
	return "%d min" % roundi(seconds / 60.0) if seconds < 5400.0 else "%.1f h" % (seconds / 3600.0)


func _host() -> String:
	var address: ModelAddress = ModelAddress.parse(download.url)
	return address.host if address != null else ""
