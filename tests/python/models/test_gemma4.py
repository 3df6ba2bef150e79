"""Gemma 4 on the reference executor: whole and in pieces, and broken ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.architectures.gemma4 import CASES, DENSE, EXPERTS, WIDTH, write_gemma4
from support.loading import finish
from support.random_model import VOCABULARY

from llm.errors import LLMError, ModelFileError, NumericError
from llm.files.gguf import GgufFile
from llm.generate.model import Model, load_model
from llm.gpu.operations import PAGE_CELLS, Attend, CacheStore
from llm.models.registry import Limits, make_program

TOKENS = np.random.default_rng(3).integers(260, VOCABULARY, 41).tolist()


def load(path: Path) -> Model:
    return finish(load_model(str(path), executor="reference", max_outputs=41, chunk_rows=41))


@pytest.fixture(scope="module", params=CASES)
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return CASES[request.param](tmp_path_factory.mktemp("models") / "tiny.gguf")


@pytest.mark.parametrize("pieces", [[1] * 41, [7] * 5 + [6], [20, 1, 20]], ids=str)
def test_pieces_give_what_the_whole_gives(path: Path, pieces: list[int]) -> None:
    model = load(path)
    model.forward(TOKENS, 0, range(len(TOKENS)))
    whole, found, start = model.logits().copy(), [], 0
    for count in pieces:
        model.forward(TOKENS[start : start + count], start, range(count))
        found.append(model.logits().copy())
        start += count
    assert np.abs(np.concatenate(found) - whole).max() < 1e-3 * np.abs(whole).max()


def test_layers_that_share_have_no_cells(tmp_path: Path) -> None:
    """They read those of the last layer of their kind that has some: 4 and 5 of 9."""
    with GgufFile.open(str(write_gemma4(tmp_path / "tiny.gguf"))) as file:
        program = make_program(file, Limits(96, 8, 1))
    operations = program.record(1, 1).operations
    stores = [op.cache for op in operations if isinstance(op, CacheStore)]
    read = [op.cache for op in operations if isinstance(op, Attend)]
    assert read == [*stores, stores[4], stores[5], stores[4]][:9]
    assert [slab.width for slab in stores] == [64, 64, 128, 64, 64, 128]
    assert program.page_words == PAGE_CELLS * (4 * 64 + 2 * 128)


def key(name: str, value: Any) -> dict[str, Any]:
    return {"metadata": {f"gemma4.{name}": value}}


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        pytest.param(
            key("expert_count", 7),
            ModelFileError,
            "expert_used_count: is missing",
            id="experts of which nobody says how many are used",
        ),
        pytest.param(
            {
                "sizes": EXPERTS,
                "replaced": {"blk.2.ffn_gate_up_exps.weight": np.ones((7, 191, 160))},
            },
            ModelFileError,
            "ffn_gate_up_exps.weight: has the shape 7x191x160, the metadata ask for 7x192x160",
            id="gates and ups of another size",
        ),
        pytest.param(
            {"sizes": EXPERTS, "without": ("blk.0.pre_ffw_norm_2.weight",)},
            ModelFileError,
            "pre_ffw_norm_2.weight: missing",
            id="experts without their norm",
        ),
        pytest.param(
            key("attention.sliding_window_pattern", [True] * 8),
            ModelFileError,
            "sliding_window_pattern: has 8 layers, but there are 9",
            id="a pattern of other layers",
        ),
        pytest.param(
            key("attention.shared_kv_layers", 7),
            ModelFileError,
            "shared_kv_layers: 7 leaves layer 2 no layer of its kind",
            id="nobody to share with",
        ),
        pytest.param(
            key("attention.head_count_kv", [1] * 8),
            ModelFileError,
            "head_count_kv: 8 numbers from 1 on; 9",
            id="key/value heads of other layers",
        ),
        pytest.param(
            key("attention.head_count_kv", [1] * 8 + [2]),
            ModelFileError,
            "head_count_kv: 128 values of a layer that reads 64",
            id="cells of another width",
        ),
        pytest.param(
            key("attention.head_count_kv", 4),
            ModelFileError,
            "6 heads do not share 4",
            id="heads that do not divide",
        ),
        pytest.param(
            key("attention.key_length", 520),
            ModelFileError,
            "key_length: 520 is not a multiple of 8 up to 512",
            id="heads too large",
        ),
        pytest.param(
            key("rope.dimension_count_swa", 16),
            ModelFileError,
            "dimension_count_swa: 16 is not 64",
            id="part of a head turned",
        ),
        pytest.param(
            key("final_logit_softcapping", -1.0), ModelFileError, "-1.0 is not >= 0", id="a cap < 0"
        ),
        pytest.param(
            {"without": ("per_layer_token_embd.weight",)},
            ModelFileError,
            "per_layer_token_embd.weight: missing",
            id="no table",
        ),
        pytest.param(
            {"without": ("blk.5.attn_k.weight",)},
            ModelFileError,
            "blk.5.attn_k.weight: missing",
            id="no keys",
        ),
        pytest.param(
            {"replaced": {"rope_freqs.weight": np.ones(31)}},
            ModelFileError,
            "rope_freqs.weight: is 31 f32; 64 f32 are needed",
            id="factors of another size",
        ),
        pytest.param(
            {"replaced": {"blk.1.layer_output_scale.weight": np.array([np.nan])}},
            ModelFileError,
            "layer_output_scale.weight: is not all above 0",
            id="a scale that is no number",
        ),
    ],
)
def test_broken_models(
    tmp_path: Path, changes: dict[str, Any], error: type[LLMError], message: str
) -> None:
    path = write_gemma4(tmp_path / "broken.gguf", **changes)
    with pytest.raises(error, match=message):
        load(path)


def test_experts_may_have_no_gains(tmp_path: Path) -> None:
    """Which is the same as gains of 1."""
    names = [f"blk.{layer}.ffn_down_exps.scale" for layer in range(len(EXPERTS["slides"]))]
    changes: list[dict[str, Any]] = [
        {"without": tuple(names)},
        {"replaced": dict.fromkeys(names, np.ones(EXPERTS["experts"]))},
    ]
    logits = []
    for change in changes:
        model = load(write_gemma4(tmp_path / "tiny.gguf", EXPERTS, **change))
        model.forward(TOKENS[:9], 0, [8])
        logits.append(model.logits().copy())
    assert np.array_equal(*logits)


def test_frequencies_are_needed(tmp_path: Path) -> None:
    path = write_gemma4(tmp_path / "tiny.gguf")
    data = path.read_bytes()
    path.write_bytes(data.replace(b"rope_freqs.weight", b"rope_other.weight"))
    with pytest.raises(ModelFileError, match=r"rope_freqs.weight: missing"):
        load(path)


def test_an_output_of_its_own(tmp_path: Path) -> None:
    """All of its rows are alike, and so are all logits."""
    output = np.full((VOCABULARY, WIDTH), 0.1)
    model = load(write_gemma4(tmp_path / "tiny.gguf", DENSE, replaced={"output.weight": output}))
    model.forward(TOKENS[:3], 0, [2])
    assert np.ptp(model.logits()) < 1e-3


def test_a_cap_hides_no_overflow(tmp_path: Path) -> None:
    output = np.full((VOCABULARY, WIDTH), 0.1)
    output[7, 0] = np.inf
    model = load(write_gemma4(tmp_path / "tiny.gguf", DENSE, replaced={"output.weight": output}))
    model.forward(TOKENS[:3], 0, [2])
    with pytest.raises(NumericError, match="1 of 300 logits are NaN or infinite"):
        model.candidates(1)


def test_one_size_may_stand_for_all_layers(tmp_path: Path) -> None:
    hidden = {"gemma4.feed_forward_length": 288, "gemma4.attention.head_count_kv": 2}
    sizes = {**DENSE, "kv_heads": (2,) * 5}
    logits = []
    for metadata in ({}, hidden):
        model = load(write_gemma4(tmp_path / "tiny.gguf", sizes, metadata=metadata))
        model.forward(TOKENS[:9], 0, [8])
        logits.append(model.logits().copy())
    assert np.array_equal(*logits)
