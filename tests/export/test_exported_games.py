"""The demos as `./llm export` makes them, where nothing is but what was exported."""

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from support.exported_game import ExportedGame
from support.installed_addon import TEMPLATE_SAYS, complaints, report_of

from setup import display
from setup.engine import Engine
from setup.paths import ROOT
from shipping.export import presets

GREEDY = json.loads((ROOT / "tests" / "golden" / "greedy.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def programs() -> dict[str, Path]:
    """What `./llm export` made, by the presets' names."""
    done = subprocess.run([ROOT / "llm", "export"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {name: ROOT / path for name, path in presets().items()}


@pytest.fixture
def moved(programs: dict[str, Path], tmp_path: Path) -> Callable[[str], ExportedGame]:
    """`moved(preset)`: the game in another folder."""
    return lambda preset: ExportedGame(programs[preset], tmp_path)


@pytest.fixture(scope="module")
def screen() -> Iterator[Mapping[str, str]]:
    with display.virtual_display() as variables:
        yield variables


def test_the_chat_with_its_model_beside_it(
    moved: Callable[[str], ExportedGame], godot: Engine, screen: Mapping[str, str]
) -> None:
    game = moved("Chat")
    assert [path.name for path in (game.folder / "models").iterdir()] == [
        "gemma-3-270m-q4_k_m.gguf"
    ]
    done = game.run(godot, screen)
    report = report_of(done.stdout)
    assert report["errors"] == []
    assert report["features"] == ["template", "release"]
    assert report["said"] == GREEDY["text"]
    assert report["executor"] != "reference"
    assert not complaints(done.stdout, TEMPLATE_SAYS)


def test_the_shop_with_its_model_in_the_pack(
    moved: Callable[[str], ExportedGame], godot: Engine, screen: Mapping[str, str]
) -> None:
    game = moved("Shop")
    assert not (game.folder / "models").exists()
    done = game.run(godot, screen)
    report = report_of(done.stdout)
    assert report["errors"] == []
    assert report["said"] and report["shown"] == report["said"]
    assert not complaints(done.stdout, TEMPLATE_SAYS)


def test_a_game_without_its_runtime_says_what_it_lacks(
    moved: Callable[[str], ExportedGame], godot: Engine, screen: Mapping[str, str]
) -> None:
    game = moved("Shop")
    runtime = next(game.folder.glob("llm.*"))
    runtime.rename(game.folder / "gone")
    done = game.run(godot, screen, "--quit-after", "30")
    assert f"there is no folder {runtime.name} in {game.folder}" in done.stdout
    assert "export with the LLM plugin enabled" in done.stdout
