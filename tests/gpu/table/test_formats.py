"""The table of docs/models.md on the GPU executors, against the reference."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from _pytest.mark import ParameterSet
from support.executors import load, load_dispatch, load_persistent
from support.logits import logits_of
from support.random_model import VOCABULARY
from support.rounded_inputs import round_inputs
from support.router_margins import clear_text
from support.table_models import DECODERS, ENCODING, TableModel, step_cells
from support.tiny_models import SHARP, TOLERANCE, error

from llm.gpu.sampler import GREEDY

TOKENS = np.random.default_rng(3).integers(0, VOCABULARY, 29).tolist()
PIECES = (19, 7, *[1] * 3)  # chunks of a prompt, then tokens


def by_turns(models: Mapping[str, TableModel]) -> list[ParameterSet]:
    """Each cell with the kernels for software drivers or with those for GPUs, so that each model
    and each format has both."""
    return [
        pytest.param(name, column, (row + place) % 2 == 0, id=f"{name}, {column}")
        for row, (name, model) in enumerate(models.items())
        for place, column in enumerate(model.columns)
    ]


@pytest.mark.parametrize(("name", "column", "is_cpu"), by_turns(DECODERS))
def test_as_dispatches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, column: str, is_cpu: bool
) -> None:
    path = DECODERS[name].write_as(column, tmp_path / "tiny.gguf")
    tokens, expected = clear_text(monkeypatch, load(path, "reference"), [sum(PIECES)])
    model = load_dispatch(path, is_cpu=is_cpu)
    assert error(logits_of(model, tokens, PIECES), expected) < TOLERANCE
    model.close()


@pytest.mark.parametrize(("name", "column"), step_cells())
def test_as_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, column: str) -> None:
    round_inputs(monkeypatch)
    path = DECODERS[name].write_as(column, tmp_path / "tiny.gguf")
    models = [load_persistent(path), load(path, "reference")]
    for model in models:
        model.forward(TOKENS[:19], 0, [18])
    found, expected = (model.decode(TOKENS[19], 19, 7, GREEDY, ()) for model in models)
    assert found == expected
    for model in models:
        model.forward([TOKENS[26]], 26, [0])
    assert error(models[0].logits(), models[1].logits()) < SHARP
    models[0].close()


@pytest.mark.parametrize(("name", "column", "is_cpu"), by_turns(ENCODING))
def test_encoders(tmp_path: Path, name: str, column: str, is_cpu: bool) -> None:
    path = ENCODING[name].write_as(column, tmp_path / "tiny.gguf")
    model, reference = load_dispatch(path, is_cpu=is_cpu), load(path, "reference")
    for other in (model, reference):
        other.forward(TOKENS, 0, [])
    assert error(model.hidden(), reference.hidden()) < TOLERANCE
    model.close()
