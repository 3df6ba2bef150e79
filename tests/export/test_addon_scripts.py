"""What of the add-on's own scripts and scenes is in a game."""

from export.conftest import NewExport
from support.installed_addon import complaints, report_of

SCRIPT = """extends Node
var _loaded: Array[String] = []
var _failed: Array[String] = []
func _ready() -> void:
	_load_below("res://addons/llm/")
	print("REPORT " + JSON.stringify({"loaded": _loaded, "failed": _failed}))
	get_tree().quit()
func _load_below(folder: String) -> void:
	for name: String in ResourceLoader.list_directory(folder):
		if name.ends_with("/"):
			_load_below(folder + name)
		elif name.get_extension() in ["gd", "tscn"]:
			var known: Array[String] = _loaded if load(folder + name) != null else _failed
			known.append((folder + name).trim_prefix("res://addons/llm/"))
"""
SCENE = """[gd_scene format=3]

[ext_resource type="Script" path="res://main.gd" id="1"]

[node name="Main" type="Node"]
script = ExtResource("1")
"""


def test_games_have_what_runs_in_games(export: NewExport) -> None:
    """A script of the editor that is missing in export_plugin.gd's NO_GAMES does not load here."""
    game = export({"main.tscn": SCENE, "main.gd": SCRIPT}, main=True)
    assert game.status == 0, game.said
    said = game.play()
    report = report_of(said)
    assert not report["failed"]
    assert {"models/model_download.gd", "xray/xray_panel.tscn"} <= set(report["loaded"])
    assert not [name for name in report["loaded"] if "plugin" in name or "editor" in name]
    assert not complaints(said)
