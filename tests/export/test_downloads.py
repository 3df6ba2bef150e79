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
from support.small_export import SCENE, reasons
from support.tiny_gemma import write_tiny_gemma

NAME = "tiny.gguf"
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


def test_an_export_fails_and_says_each_reason(export: NewExport) -> None:
    files = {
        "main.tscn": SCENE.format(f"res://{NAME}"),
        NAME: "GGUF",
        "parts.tscn": SCENE.format("res://m-00001-of-00002.gguf"),
    }
    addresses = {
        "models/a.gguf": "0" * 64,
        "https://models.example/b.gguf": "0" * 63 + "g",
        f"https://models.example/some/where/{NAME}": "0" * 64,
        "https://models.example/m-00002-of-00002.gguf": "0" * 64,
    }
    game = export(files, downloads(addresses))
    assert game.status == 1
    first = "res://m-00001-of-00002.gguf"
    assert reasons(game) == {
        "the preset: 'models/a.gguf' is no address of a model file; it begins with https://.",
        f"the preset: the SHA-256 of https://models.example/b.gguf is '{'0' * 63}g'; it has 64 "
        "hexadecimal digits.",
        f"the SHA-256 of res://{NAME} is {hashlib.sha256(b'GGUF').hexdigest()}, and the preset "
        f"has {'0' * 64}.",
        f"the preset has addresses of some parts of {first} and none of {first}.",
        f"res://parts.tscn names the model {first}, which is not there.",
    }
