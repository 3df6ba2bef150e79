"""Models that a game downloads when it first runs."""

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from export.conftest import NewExport
from support.installed_addon import TEMPLATE_SAYS, complaints, report_of
from support.small_export import SCENE, Files
from support.tiny_gemma import write_tiny_gemma

NAME = "tiny.gguf"
ADDRESS = f"https://models.example/some/where/{NAME}"
SCRIPT = """extends Control
@onready var _llm: LLM = $LLM
@onready var _models: MissingModels = $MissingModels
func _ready() -> void:
	var missing: PackedStringArray = _models.missing()
	await _models.finished
	_llm.start_worker()
	await _llm.worker_started
	print("REPORT " + JSON.stringify({"missing": missing, "file": _files()}))
	get_tree().quit()
func _files() -> PackedStringArray:
	return DirAccess.get_files_at("user://models")
"""
GAME = """[gd_scene format=3]

[ext_resource type="Script" path="res://main.gd" id="1"]
[ext_resource type="PackedScene" path="res://addons/llm/models/missing_models.tscn" id="2"]

[node name="Main" type="Control"]
script = ExtResource("1")

[node name="MissingModels" parent="." instance=ExtResource("2")]

[node name="LLM" type="LLM" parent="."]
model_path = "res://models/tiny.gguf"
executor = "reference"
"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_arguments: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ThreadingHTTPServer]:
    """Has the tiny model."""
    folder = tmp_path / "served"
    folder.mkdir()
    write_tiny_gemma(folder / NAME)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever).start()
        yield server
        server.shutdown()


def downloads(addresses: Mapping[str, str]) -> dict[str, str]:
    return {"downloads": json.dumps(addresses)}


def test_a_model_comes_when_the_game_first_runs(
    export: NewExport, server: ThreadingHTTPServer, tmp_path: Path
) -> None:
    sha256 = hashlib.sha256((tmp_path / "served" / NAME).read_bytes()).hexdigest()
    address = f"http://127.0.0.1:{server.server_port}/{NAME}"
    game = export({"main.tscn": GAME, "main.gd": SCRIPT}, downloads({address: sha256}), main=True)
    assert game.status == 0, game.said
    assert not game.models
    said = game.play()
    assert report_of(said) == {"missing": [NAME], "file": [NAME]}
    assert not complaints(said, TEMPLATE_SAYS)
    server.shutdown()
    said = game.play()
    assert report_of(said) == {"missing": [], "file": [NAME]}
    assert not complaints(said, TEMPLATE_SAYS)


@pytest.mark.parametrize(
    ("files", "addresses", "reason"),
    [
        pytest.param(
            {},
            {f"models/{NAME}": "0" * 64},
            f"the preset: 'models/{NAME}' is no address of a model file",
            id="no address",
        ),
        pytest.param(
            {},
            {ADDRESS: "0" * 63 + "g"},
            f"the preset: the SHA-256 of {ADDRESS} is '{'0' * 63}g'; it has 64",
            id="no checksum",
        ),
        pytest.param(
            {"main.tscn": SCENE.format(f"res://{NAME}"), NAME: "GGUF"},
            {ADDRESS: "0" * 64},
            f"the SHA-256 of res://{NAME} is {hashlib.sha256(b'GGUF').hexdigest()}, and the",
            id="another file than the project's",
        ),
        pytest.param(
            {"main.tscn": SCENE.format("res://m-00001-of-00002.gguf")},
            {"https://models.example/m-00002-of-00002.gguf": "0" * 64},
            "the preset has addresses of some parts of res://m-00001-of-00002.gguf and none of "
            "res://m-00001-of-00002.gguf.",
            id="a part of a model",
        ),
    ],
)
def test_an_export_fails(
    export: NewExport, files: Files, addresses: Mapping[str, str], reason: str
) -> None:
    game = export(files, downloads(addresses))
    assert game.status == 1
    assert f"ERROR: LLM: {reason}" in game.said
