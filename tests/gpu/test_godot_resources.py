"""Exposed resources in a project of their own: saved, loaded, copied, and edited in the editor."""

from __future__ import annotations

from typing import Any

import pytest
from support.engine_project import EngineProject

SAVED = [0.25, ["Ж", "b"], {"a": 1, "b": [0.5]}, 8.0, "Gradient"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> EngineProject:
    return EngineProject(tmp_path_factory.mktemp("saved"), module="support.counted_classes")


@pytest.fixture(scope="module")
def game(project: EngineProject) -> dict[str, Any]:
    return project.report("resource_check.gd")


@pytest.fixture(scope="module")
def editor(project: EngineProject) -> dict[str, Any]:
    return project.editor_report("resource_editor_check.gd")


class TestInAGame:
    @pytest.mark.parametrize("how", ["alone", "in_scene", "from_a_thread", "copy"])
    def test_all_its_values_come_back(self, game: dict[str, Any], how: str) -> None:
        assert game[how] == SAVED

    def test_a_deep_copy_has_parts_of_its_own(self, game: dict[str, Any]) -> None:
        assert game["is_another"] is True

    def test_files_name_its_class_and_its_parts(self, game: dict[str, Any]) -> None:
        assert '[gd_resource type="SavedThing"' in game["text"]
        assert '[sub_resource type="SavedPart"' in game["text"]
        assert "part = SubResource(" in game["text"]
        assert "saved = SubResource(" in game["scene_text"]

    def test_nothing_is_left_behind(self, game: dict[str, Any]) -> None:
        assert game["stderr"] == ""


class TestInTheEditor:
    """Where resources, as nodes, are placeholders that keep their values."""

    def test_a_scene_keeps_the_values_that_it_was_made_with(self, editor: dict[str, Any]) -> None:
        assert editor["class"] == "SavedThing"
        assert editor["made"] == [0.25, ["Ж"], {"a": 1}, 8.0]
        assert editor["loaded"][1:] == editor["made"][1:]

    def test_the_inspector_shows_and_edits_them(self, editor: dict[str, Any]) -> None:
        assert editor["shown"][:5] == ["level", "words", "table", "part", "image"]
        assert editor["loaded"][0] == 0.75
        assert "level = 0.75" in editor["saved"]
