"""What an export puts where, and why it fails: small projects, files that only look like models."""

from pathlib import Path

import pytest
from export.conftest import NewExport
from support.installed_addon import BlankProject, complaints
from support.small_export import SCENE, Exported, reasons

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


def test_an_export_fails_and_says_each_reason(export: NewExport) -> None:
    files = {
        "main.tscn": SCENE.format("res://gone.gguf"),
        "one.tscn": SCENE.format("res://a/m.gguf"),
        "two.tscn": SCENE.format("res://b/m.gguf"),
        "a/m.gguf": "GGUF",
        "b/m.gguf": "GGUF",
    }
    game = export(files, {"also": 'PackedStringArray("res://folder")'})
    assert game.status == 1
    assert reasons(game) == {
        "res://main.tscn names the model res://gone.gguf, which is not there.",
        "the preset names the model res://folder, which is not there.",
        "res://a/m.gguf and res://b/m.gguf have the same name; rename one.",
    }


def test_what_cannot_be_in_the_pack(export: NewExport) -> None:
    files = {
        "main.tscn": SCENE.format("res://m-00001-of-00002.gguf"),
        "m-00001-of-00002.gguf": "GGUF",
        "folder/config.json": "{}",
    }
    options = {"also": 'PackedStringArray("res://folder")', "placement": str(IN_PACK)}
    game = export(files, options, encrypt=True)
    assert game.status == 1
    assert reasons(game) == {
        "res://folder is a folder, which cannot be in the pack; place it beside.",
        "res://m-00001-of-00002.gguf cannot be read from an encrypted pack; place it beside.",
        "res://main.tscn names the model res://m-00002-of-00002.gguf, which is not there.",
    }


def test_an_export_without_a_runtime_fails(
    opened: BlankProject, tmp_path: Path, godot: Engine
) -> None:
    project = opened.copied_to(tmp_path)
    runtime = next((project.folder / "addons/llm/bin").glob("llm.*"))
    runtime.rename(project.home / "gone")
    game = Exported(project, godot, {"main.tscn": SCENE.format("echo:")}, {})
    assert game.status == 1
    assert "LLM: there is no res://addons/llm/bin/llm.linux.x86_64: install the add-on" in game.said
