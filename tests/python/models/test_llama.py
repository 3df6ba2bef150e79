"""Llama on the reference executor: a tiny random model in pieces, its rotation, and broken ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Type
from support.loading import finish
from support.logits import logits_of
from support.random_model import VOCABULARY
from support.tiny_llama import (
    CONTEXT,
    HEAD_SIZE,
    LAYERS,
    MIXED,
    WIDTH,
    write_tiny_k_quant_llama,
    write_tiny_llama,
)

from llm.errors import ModelFileError, UnsupportedModelError
from llm.files.gguf import GgufFile
from llm.generate.model import Model, load_model
from llm.gpu.operations import MatMul, Rotate
from llm.gpu.program import Program
from llm.models.registry import Limits, make_program

PROMPT = np.random.default_rng(3).integers(0, VOCABULARY, 61).tolist()


def load(path: Path) -> Model:
    return finish(load_model(str(path), executor="reference", max_outputs=64, chunk_rows=64))


def program_of(path: Path) -> Program:
    with GgufFile.open(str(path)) as file:
        return make_program(file, Limits(CONTEXT, 8, 1))


@pytest.mark.parametrize("write", [write_tiny_llama, write_tiny_k_quant_llama])
@pytest.mark.parametrize(
    "pieces",
    [pytest.param([1] * 61, id="token by token"), pytest.param([31, 1, 29], id="chunks")],
)
def test_pieces_give_what_the_whole_gives(tmp_path: Path, write: Any, pieces: list[int]) -> None:
    model = load(write(tmp_path / "tiny.gguf"))
    assert model.context_length == CONTEXT
    whole = logits_of(model, PROMPT, [61])
    assert np.abs(logits_of(model, PROMPT, pieces) - whole).max() < 1e-3 * np.abs(whole).max()


def test_the_products_add_the_residual(tmp_path: Path) -> None:
    tape = program_of(write_tiny_llama(tmp_path / "tiny.gguf")).record(1, 1)
    adding = [op for op in tape.operations if isinstance(op, MatMul) and op.residual is not None]
    assert len(adding) == 2 * LAYERS
    assert all(op.residual == op.y for op in adding)


def test_a_tied_output_is_stored_once(tmp_path: Path) -> None:
    program = program_of(write_tiny_llama(tmp_path / "tied.gguf", without=("output.weight",)))
    assert "output.weight" not in [weight.name for weight in program.weights]
    last = program.record(1, 1).operations[-1]
    assert isinstance(last, MatMul)
    assert last.weight.name == "token_embd.weight"


FACTORS = np.geomspace(1.0, 8.0, HEAD_SIZE // 2)


@pytest.mark.parametrize(
    ("metadata", "factors", "base", "size", "divisor"),
    [
        pytest.param({}, None, 5e5, 64, 1.0, id="as given"),
        pytest.param({"rope.freq_base": None}, None, 1e4, 64, 1.0, id="usual base"),
        pytest.param({"rope.dimension_count": 40}, None, 5e5, 40, 1.0, id="part of a head"),
        pytest.param({"rope.dimension_count": None}, None, 5e5, 64, 1.0, id="whole heads"),
        pytest.param({"rope.scaling.factor": 4.0}, None, 5e5, 64, 4.0, id="linear if not named"),
        pytest.param(
            {"rope.scaling.type": "none", "rope.scaling.factor": 4.0},
            None,
            5e5,
            64,
            1.0,
            id="scaling none",
        ),
        pytest.param({}, FACTORS, 5e5, 64, FACTORS.astype(np.float32), id="factors"),
        pytest.param(
            {"rope.scaling.factor": 2.0},
            FACTORS,
            5e5,
            64,
            2 * FACTORS.astype(np.float32),
            id="factors and linear scaling",
        ),
    ],
)
def test_rotation(
    tmp_path: Path, metadata: dict[str, Any], factors: Any, base: float, size: int, divisor: Any
) -> None:
    path = write_tiny_llama(
        tmp_path / "tiny.gguf",
        metadata={f"llama.{key}": value for key, value in metadata.items()},
        replaced=None if factors is None else {"rope_freqs.weight": factors},
    )
    program = program_of(path)
    rotations = [op for op in program.record(1, 1).operations if isinstance(op, Rotate)]
    assert {op.turned for op in rotations} == {size}
    turns = program.constants[rotations[0].table.name].astype(np.float64).sum(axis=1)
    expected = base ** (-np.arange(0, size, 2) / size) / (2 * np.pi * divisor)
    assert np.allclose(turns, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("metadata", "error", "message"),
    [
        ({"block_count": None}, ModelFileError, "llama.block_count"),
        ({"attention.head_count": 0}, ModelFileError, "head_count: 0"),
        ({"attention.head_count_kv": 3}, ModelFileError, "8 heads do not share 3"),
        ({"attention.key_length": 60}, ModelFileError, "60 is not a multiple of 8"),
        ({"rope.dimension_count": 66}, ModelFileError, "rope.dimension_count: 66"),
        ({"rope.dimension_count": 33}, ModelFileError, "rope.dimension_count: 33"),
        ({"rope.freq_base": -1.0}, ModelFileError, "rope.freq_base: -1.0 is not above 0"),
        ({"rope.scaling.factor": 0.0}, ModelFileError, "rope.scaling.factor: 0.0 is not above 0"),
        ({"rope.scaling.type": "dynamic"}, UnsupportedModelError, "is 'dynamic'.*linear.*yarn"),
        ({"expert_count": 8}, ModelFileError, "llama.expert_used_count: is missing"),
    ],
)
def test_metadata_that_do_not_fit(
    tmp_path: Path, metadata: dict[str, Any], error: type, message: str
) -> None:
    changes = {f"llama.{key}": value for key, value in metadata.items()}
    path = write_tiny_llama(tmp_path / "broken.gguf", metadata=changes)
    with pytest.raises(error, match=message):
        program_of(path)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        pytest.param(
            {"without": ("blk.2.ffn_up.weight",)},
            ModelFileError,
            "blk.2.ffn_up.weight: missing",
            id="missing tensor",
        ),
        pytest.param(
            {"replaced": {"blk.1.attn_q.bias": np.ones(WIDTH)}},
            ModelFileError,
            "blk.1.attn_q.bias: has the shape 1x320, the metadata ask for 1x512",
            id="a bias of another size",
        ),
        pytest.param(
            {"replaced": {"rope_freqs.weight": FACTORS[1:]}},
            ModelFileError,
            "rope_freqs.weight: is 31 f32; 32 f32 are needed",
            id="too few factors",
        ),
        pytest.param(
            {"replaced": {"rope_freqs.weight": FACTORS - 1.0}},
            ModelFileError,
            "rope_freqs.weight: is not all above 0",
            id="a factor of zero",
        ),
        pytest.param(
            {"formats": {**MIXED, "ffn_down": Type.Q8_1}},
            UnsupportedModelError,
            "q8_1.*this build runs",
            id="a format without kernels",
        ),
    ],
)
def test_tensors_that_do_not_fit(
    tmp_path: Path, changes: dict[str, Any], error: type, message: str
) -> None:
    path = write_tiny_llama(tmp_path / "broken.gguf", **changes)
    with pytest.raises(error, match=message):
        load(path)
