"""What an export puts where, and why it fails: small projects, files that only look like models."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from export.conftest import NewExport
from support.installed_addon import BlankProject, complaints
from support.small_export import SCENE, Exported, Files

from llm.files.mapping import map_any
from setup.engine import Engine

SCRIPT = '@export_file("*.gguf") var path: String = "{}"\n'
BESIDE, IN_PACK, LEFT_OUT = range(3)
FIRST_PART = "m-00001-of-00002.gguf"


def packed(pack: Path, name: str) -> bytes:
    return bytes(map_any(str(pack / name)))


def test_models_are_found_and_lie_beside_the_program(export: NewExport) -> None:
    game = export(
        {
            "main.tscn": SCENE.format("res://a/one.gguf"),
            "a/one.gguf": "GGUF 1",
            "chooser.gd": "extends Node\n" + SCRIPT.format("res://.hidden/two.gguf"),
            ".hidden/two.gguf": "GGUF 2",
            "listed/config.json": "{}",
            "listed/model.safetensors": "weights",
            "unused.gguf": "GGUF 3",
        },
        {"also": 'PackedStringArray("res://listed")'},
    )
    assert game.status == 0, game.said
    assert not complaints(game.said)
    listed = {"listed/config.json", "listed/model.safetensors"}
    assert game.models == {"one.gguf", "two.gguf", *listed}
    assert (game.folder / "models" / "two.gguf").read_text() == "GGUF 2"
    assert next(game.folder.glob("llm.*/runtime.cfg")).parent.name == "llm.linux.x86_64"


@pytest.mark.parametrize("embed", [False, True])
def test_models_in_the_pack(export: NewExport, embed: bool) -> None:
    parts = {f"m-{number:05d}-of-00002.gguf": f"GGUF {number}" for number in (1, 2)}
    game = export(
        {"main.tscn": SCENE.format(f"res://{FIRST_PART}"), **parts},
        {"placement": str(IN_PACK)},
        include="*.gguf",  # must not bring them a second time
        embed=embed,
    )
    assert game.status == 0, game.said
    assert not game.models
    for name, text in parts.items():
        assert packed(game.pack, name) == text.encode()
        assert game.pack.read_bytes().count(text.encode()) == 1


def test_a_pack_that_is_encrypted_holds_no_models(export: NewExport) -> None:
    files = {"main.tscn": SCENE.format("res://one.gguf"), "one.gguf": "GGUF"}
    game = export(files, {"placement": str(IN_PACK)}, encrypt=True)
    assert game.status == 1
    assert "LLM: res://one.gguf cannot be read from an encrypted pack; place it" in game.said


def test_models_left_out(export: NewExport) -> None:
    files = {"main.tscn": SCENE.format("res://fetched.gguf")}
    game = export(files, {"placement": str(LEFT_OUT)})
    assert game.status == 0, game.said
    assert not game.models


def test_only_some_scenes(export: NewExport) -> None:
    files = {"main.tscn": SCENE.format("res://one.gguf"), "one.gguf": "GGUF"}
    game = export(files, filter="scenes")
    assert game.status == 0, game.said
    assert game.models == {"one.gguf"}
    assert list(game.folder.glob("libllm.*"))
    assert b"llm_extension_init" in packed(game.pack, "addons/llm/llm.gdextension")


def test_a_path_of_this_machine_is_no_players(export: NewExport) -> None:
    game = export({"main.tscn": SCENE.format("/models/mine.gguf")})
    assert "res://main.tscn names the model /models/mine.gguf, which players do not" in game.said
    assert not game.models


@pytest.mark.parametrize(
    ("files", "options", "reason"),
    [
        pytest.param(
            {"main.tscn": SCENE.format("res://gone.gguf")},
            {},
            "res://main.tscn names the model res://gone.gguf, which is not there.",
            id="a model that a scene names",
        ),
        pytest.param(
            {
                "main.tscn": SCENE.format("res://m-00001-of-00002.gguf"),
                "m-00001-of-00002.gguf": "G",
            },
            {"placement": str(IN_PACK)},
            "res://main.tscn names the model res://m-00002-of-00002.gguf, which is not there.",
            id="a part of a model",
        ),
        pytest.param(
            {"main.tscn": SCENE.format("echo:")},
            {"also": 'PackedStringArray("res://gone")'},
            "the preset names the model res://gone, which is not there.",
            id="a model that the preset names",
        ),
        pytest.param(
            {
                "main.tscn": SCENE.format("res://a/m.gguf"),
                "other.tscn": SCENE.format("res://b/m.gguf"),
                "a/m.gguf": "GGUF",
                "b/m.gguf": "GGUF",
            },
            {},
            "res://a/m.gguf and res://b/m.gguf have the same name; rename one.",
            id="two models of one name",
        ),
        pytest.param(
            {"main.tscn": SCENE.format("echo:"), "m/config.json": "{}"},
            {"also": 'PackedStringArray("res://m")', "placement": str(IN_PACK)},
            "res://m is a folder, which cannot be in the pack; place it beside.",
            id="a folder in the pack",
        ),
    ],
)
def test_an_export_fails(
    export: NewExport, files: Files, options: Mapping[str, str], reason: str
) -> None:
    game = export(files, options)
    assert game.status == 1
    assert f"ERROR: LLM: {reason}" in game.said


def test_an_export_without_a_runtime_fails(
    opened: BlankProject, tmp_path: Path, godot: Engine
) -> None:
    project = opened.copied_to(tmp_path)
    runtime = next((project.folder / "addons/llm/bin").glob("llm.*"))
    runtime.rename(project.home / "gone")
    game = Exported(project, godot, {"main.tscn": SCENE.format("echo:")}, {})
    assert game.status == 1
    assert "there is no res://addons/llm/bin/llm.linux.x86_64: install the add-on" in game.said
