"""The sampling resource: presets, files, and what a node makes of it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from support.godot_log import engine_errors
from support.godot_script import compile_script

from godot import ClassDB, Resource
from llm.generate.request import SamplingParams
from llm.nodes import LLM, LLMSampling
from llm.nodes.presets import PRESETS
from llm.nodes.sampling import preset_values

RESOURCE_TYPE = 17  # PROPERTY_HINT_RESOURCE_TYPE


@pytest.fixture
def llm() -> Any:
    llm = LLM()
    yield llm
    llm.free()


def test_the_defaults_are_those_of_sampling_params() -> None:
    values = LLMSampling()._values()
    for field in fields(SamplingParams):
        if field.name in values and field.name not in ("logit_bias", "dry_breakers"):
            assert values[field.name] == field.default, field.name


class TestPresets:
    @pytest.mark.parametrize("name", PRESETS)
    def test_each_sets_all_and_is_told(self, name: str) -> None:
        made = LLMSampling()
        made.temperature, made.mirostat, made.seed = 0.123, True, 5
        assert made.preset == "custom"
        made.preset = name
        assert made.preset == name
        assert made._values().items() >= preset_values(name).items()
        assert made.seed == 5

    def test_a_change_makes_it_custom(self) -> None:
        made = LLMSampling()
        assert made.preset == "balanced"
        made.apply_preset("wild")
        made.top_k = 20
        assert made.preset == "custom"
        made.preset = "custom"
        assert (made.top_k, made.temperature) == (20, 1.5)

    def test_custom_brings_back_what_was_there_before(self) -> None:
        made = LLMSampling()
        made.top_k = 20
        made.preset = "wild"
        made.preset = "greedy"
        made.preset = "custom"
        assert (made.top_k, made.temperature) == (20, 0.8)

    def test_one_that_there_is_not_is_an_error_and_changes_nothing(self) -> None:
        made = LLMSampling()
        made.preset = "precise"
        with engine_errors() as errors:
            made.apply_preset("lukewarm")
        assert "no preset 'lukewarm'; there are greedy, precise" in errors[0]["code"]
        assert made.preset == "precise"

    def test_each_can_be_drawn_with(self, llm: Any) -> None:
        llm.sampling = LLMSampling()
        for name in PRESETS:
            llm.sampling.preset = name
            llm._answer_options()  # raises where a value is out of range


class TestFiles:
    """What differs from the defaults is saved; the preset is not, and comes back by itself."""

    SCRIPT = """
        func saved_and_loaded(sampling: LLMSampling) -> LLMSampling:
            ResourceSaver.save(sampling, PATH)
            return ResourceLoader.load(PATH, "", ResourceLoader.CACHE_MODE_IGNORE)

        func text() -> String:
            return FileAccess.get_file_as_string(PATH)
        """

    @pytest.fixture
    def script(self, tmp_path: Any) -> Any:
        return compile_script(self.SCRIPT.replace("PATH", f'"{tmp_path}/sampling.tres"'))

    @pytest.mark.parametrize("name", PRESETS)
    def test_a_preset(self, script: Any, name: str) -> None:
        made = LLMSampling()
        made.preset = name
        loaded = script.saved_and_loaded(made)
        assert "preset" not in script.text()
        assert (loaded.preset, loaded._values()) == (name, made._values())

    def test_a_preset_with_one_value_back_at_its_default(self, script: Any) -> None:
        made = LLMSampling()
        made.preset = "wild"
        made.temperature = 0.8
        made.logit_bias = {"yes": 5.0, 106: -100.0}
        made.dry_breakers = ["\n", "Ж:"]
        loaded = script.saved_and_loaded(made)
        assert "temperature" not in script.text()
        assert loaded._values() == made._values()
        assert loaded.preset == "custom"


class TestOnANode:
    def test_the_inspector_takes_one(self, llm: Any) -> None:
        infos = {info["name"]: info for info in ClassDB.class_get_property_list("LLM", True)}
        found = infos["sampling"]
        assert (found["hint"], found["hint_string"]) == (RESOURCE_TYPE, "LLMSampling")
        assert llm.sampling is None

    def test_its_values_take_the_place_of_the_nodes(self, llm: Any) -> None:
        llm.temperature, llm.seed = 1.9, 3
        assert llm._answer_options().sampling.temperature == 1.9
        llm.sampling = LLMSampling()
        llm.sampling.preset = "greedy"
        llm.sampling.penalty_window = 17
        drawn = llm._answer_options().sampling
        assert (drawn.temperature, drawn.seed, drawn.penalty_window) == (0.0, -1, 17)
        llm.sampling = None
        assert llm._answer_options().sampling.seed == 3

    def test_two_nodes_share_it(self, llm: Any) -> None:
        other = LLM()
        llm.sampling = other.sampling = LLMSampling()
        llm.sampling.temperature = 0.5
        assert other._answer_options().sampling.temperature == 0.5
        other.free()
        assert llm._answer_options().sampling.temperature == 0.5

    def test_another_resource_is_refused(self, llm: Any) -> None:
        with pytest.raises(TypeError, match="expected LLMSampling or None, found Resource"):
            llm.sampling = Resource()
