"""Gemma 3n on the reference executor: against llama.cpp, in pieces, and broken ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.architectures.gemma3n import FEED_FORWARD, LAYERS, WIDTH, write_gemma3n
from support.divergence import divergence
from support.llama_cpp import distributions
from support.loading import finish
from support.random_model import VOCABULARY

from llm.errors import ModelFileError
from llm.files.gguf import GgufFile
from llm.generate.model import Model, load_model
from llm.gpu.operations import Attend, CacheStore
from llm.models.registry import Limits, make_program

TOKENS = np.random.default_rng(3).integers(260, VOCABULARY, 41).tolist()


def load(path: Path) -> Model:
    return finish(load_model(str(path), executor="reference", max_outputs=41, chunk_rows=41))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gemma3n(tmp_path_factory.mktemp("models") / "tiny.gguf")


def test_a_cap_that_matters(path: Path) -> None:
    """Of the other case that is compared with llama.cpp the logits are too small for it."""
    model = load(path)
    model.forward(TOKENS, 0, range(len(TOKENS)))
    result = divergence(*distributions(path, TOKENS), model.logits())
    assert result.mean < 1e-5  # seen: 6.4e-6, and 2.3 without the cap
    assert result.same_top == 1.0


@pytest.mark.parametrize("pieces", [[1] * 41, [7] * 5 + [6]], ids=str)
def test_pieces_give_what_the_whole_gives(path: Path, pieces: list[int]) -> None:
    model = load(path)
    model.forward(TOKENS, 0, range(len(TOKENS)))
    whole, found, start = model.logits().copy(), [], 0
    for count in pieces:
        model.forward(TOKENS[start : start + count], start, range(count))
        found.append(model.logits().copy())
        start += count
    assert np.abs(np.concatenate(found) - whole).max() < 1e-2 * np.abs(whole).max()


def test_hidden_rows(path: Path) -> None:
    """The output norm of all rows, of which the head makes logits."""
    model = load(path)
    model.forward(TOKENS[:9], 0, [])
    hidden = model.hidden().copy()
    assert hidden.shape == (9, WIDTH)
    assert np.isfinite(hidden).all()


def test_layers_that_share_have_no_cells(path: Path) -> None:
    with GgufFile.open(str(path)) as file:
        operations = make_program(file, Limits(96, 8, 1)).record(1, 1).operations
    stores = [op.cache for op in operations if isinstance(op, CacheStore)]
    read = [op.cache for op in operations if isinstance(op, Attend)]
    assert len(stores) == 20
    assert read[:20] == stores
    every_fifth = [stores[19 if layer % 5 == 4 else 18] for layer in range(20, LAYERS)]
    assert read[20:] == every_fifth


def key(name: str, value: Any) -> dict[str, Any]:
    return {"metadata": {f"gemma3n.{name}": value}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param(
            key("feed_forward_length", [FEED_FORWARD] * (LAYERS - 1) + [96]),
            "feed_forward_length: 2 sizes",
            id="layers of several widths",
        ),
        pytest.param(
            key("altup.active_idx", 4), "active_idx: 4 is none of 4 streams", id="no such stream"
        ),
        pytest.param(key("altup.num_inputs", 9), "num_inputs: 9 is above 8", id="too many streams"),
        pytest.param(
            key("altup.num_inputs", 3),
            "altup_proj.weight: has the shape 3x96x96, the metadata ask for 2x96x96",
            id="other streams than the file has",
        ),
        pytest.param(
            key("attention.head_count_kv", 4), "6 heads do not share 4", id="heads do not divide"
        ),
        pytest.param(
            {"without": ("altup_unembd_proj.weight",)},
            "altup_unembd_proj.weight: missing",
            id="no projection back",
        ),
        pytest.param(
            {"without": ("blk.7.laurel_l.weight",)},
            "blk.7.laurel_l.weight: missing",
            id="no laurel",
        ),
    ],
)
def test_broken_models(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        load(write_gemma3n(tmp_path / "broken.gguf", **changes))
