"""What decoders have in common is read as it should be, or refused with what is wrong."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.architectures import all_cases
from support.tiny_decoder import CONTEXT, HEAD_NORMS, SANDWICH_NORMS, write_tiny_decoder

from llm.errors import ModelFileError, UnsupportedModelError
from llm.files.gguf import GgufFile
from llm.gpu.operations import Attend, Rotate
from llm.gpu.program import Program
from llm.models.registry import Limits, make_program
from llm.models.rope import yarn_divisors, yarn_magnitude

NO_NORMS = ("attn_norm.weight", "ffn_norm.weight")


def program_of(path: Path) -> Program:
    with GgufFile.open(str(path)) as file:
        return make_program(file, Limits(CONTEXT, 8, 1))


@pytest.mark.parametrize("write", all_cases())
def test_no_tensor_is_left_unread(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    path = write(tmp_path / "tiny.gguf")
    program = program_of(path)
    taken = {weight.tensor for weight in (*program.weights, *program.tables)}
    with GgufFile.open(str(path)) as file:
        left = file.tensors.keys() - taken - program.constants.keys()
        name = file.metadata.str("general.architecture")
        further = file.metadata.int(f"{name}.nextn_predict_layers", 0)  # blocks, the last ones
        if further:
            first = file.metadata.int(f"{name}.block_count") - further
            left = {name for name in left if not name.startswith(f"blk.{first}.")}
    assert all(name.startswith("rope_") or "layer_output_scale" in name for name in left)
    assert taken <= file.tensors.keys()


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"block_count": None}, "granite.block_count"),
        ({"feed_forward_length": 0}, "feed_forward_length: 0 is not >= 1"),
        ({"attention.head_count_kv": 4}, "6 heads do not share 4"),
        ({"attention.key_length": 60}, "60 is not a multiple of 8"),
        ({"attention.layer_norm_rms_epsilon": 0.0}, "epsilon: 0.0 is not above 0"),
        ({"rope.dimension_count": 66}, "dimension_count: 66 is not even and up to .* 64"),
        ({"rope.scaling.attn_factor": -1.0}, "attn_factor: -1.0 is not above 0"),
        ({"logit_scale": None}, "granite.logit_scale"),
        ({"residual_scale": 0.0}, "residual_scale: 0.0 is not above 0"),
    ],
)
def test_metadata_that_do_not_fit(tmp_path: Path, metadata: dict[str, Any], message: str) -> None:
    changes = {"logit_scale": 4.0, **metadata}
    path = write_tiny_decoder(tmp_path / "broken.gguf", "granite", metadata=changes)
    with pytest.raises(ModelFileError, match=message):
        program_of(path)


@pytest.mark.parametrize(
    ("architecture", "name"),
    [
        ("llama", "blk.0.attn_q_norm.weight"),
        ("llama", "blk.2.attn_sub_norm.weight"),
        ("qwen3", "blk.1.attn_q.bias"),
        ("qwen3", "output.bias"),
        ("gemma", "blk.2.post_ffw_norm.weight"),
    ],
)
def test_what_nothing_would_read_is_refused(tmp_path: Path, architecture: str, name: str) -> None:
    """A model with another norm or bias would say other things without it."""
    path = write_tiny_decoder(
        tmp_path / "other.gguf",
        architecture,
        block=HEAD_NORMS if architecture == "qwen3" else None,
        replaced={name: np.ones(64)},
    )
    with pytest.raises(UnsupportedModelError, match=f"'{name}'; this build runs files without it"):
        program_of(path)


def test_positions_scaled_by_the_key_of_old_files(tmp_path: Path) -> None:
    tables = []
    for key in ("rope.scale_linear", "rope.scaling.factor"):
        path = write_tiny_decoder(tmp_path / f"{key}.gguf", "llama", metadata={key: 4.0})
        tables.append(program_of(path).constants["rope"])
    assert (tables[0] == tables[1]).all()


def test_a_stacked_matrix_of_another_height(tmp_path: Path) -> None:
    stacked = {"attn_qkv.weight": (640, 160), "ffn_up.weight": (831, 160)}
    path = write_tiny_decoder(tmp_path / "broken.gguf", "phi3", block=stacked)
    with pytest.raises(ModelFileError, match=r"ffn_up.*has the shape 831x160.*ask for 832x160"):
        program_of(path)


def test_the_rows_of_a_stacked_matrix(tmp_path: Path) -> None:
    stacked = {"attn_qkv.weight": (640, 160), "ffn_up.weight": (832, 160)}
    path = write_tiny_decoder(tmp_path / "tiny.gguf", "phi3", block=stacked, layers=1)
    pieces = [weight for weight in program_of(path).weights if weight.part_of]
    assert [(piece.tensor, piece.first_row, piece.rows) for piece in pieces] == [
        ("blk.0.attn_qkv.weight", 0, 384),
        ("blk.0.attn_qkv.weight", 384, 128),
        ("blk.0.attn_qkv.weight", 512, 128),
        ("blk.0.ffn_up.weight", 0, 416),
        ("blk.0.ffn_up.weight", 416, 416),
    ]


@pytest.mark.parametrize(
    ("pattern", "windows"),
    [
        (None, [5, 5, 5, 0, 5]),
        (2, [5, 0, 5, 0, 5]),
        ([False, True, True, False, False], [0, 5, 5, 0, 0]),
    ],
)
def test_windows(tmp_path: Path, pattern: Any, windows: list[int]) -> None:
    """By a period, the architecture's or the file's, or as the file says of each layer."""
    keys = {"attention.sliding_window": 5, "attention.sliding_window_pattern": pattern}
    block = SANDWICH_NORMS | {"attn_q_norm.weight": (384,), "attn_k_norm.weight": (128,)}
    path = write_tiny_decoder(
        tmp_path / "tiny.gguf", "olmo2", metadata=keys, block=block, without=NO_NORMS, layers=5
    )
    tape = program_of(path).record(1, 1)
    assert [op.window for op in tape.operations if isinstance(op, Attend)] == windows


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({}, "gemma3.attention.sliding_window: is missing"),
        ({"attention.sliding_window": 0}, "sliding_window: is 0, but must be 1"),
        (
            {"attention.sliding_window": 5, "attention.sliding_window_pattern": [True] * 4},
            "sliding_window_pattern: is of 4 layers, not 3",
        ),
    ],
)
def test_windows_that_do_not_fit(tmp_path: Path, metadata: dict[str, Any], message: str) -> None:
    block = SANDWICH_NORMS | HEAD_NORMS
    path = write_tiny_decoder(tmp_path / "broken.gguf", "gemma3", metadata=metadata, block=block)
    with pytest.raises(ModelFileError, match=message):
        program_of(path)


def test_layers_without_positions(tmp_path: Path) -> None:
    program = program_of(write_tiny_decoder(tmp_path / "tiny.gguf", "smollm3", layers=9))
    rotations = [op for op in program.record(1, 1).operations if isinstance(op, Rotate)]
    turning = [bool(program.constants[op.table.name].any()) for op in rotations[::2]]
    assert turning == [True, True, True, False] * 2 + [True]


def test_yarn() -> None:
    """Pairs that turn more than 32 times in 4,096 tokens stay as they are, those that turn less
    than once are divided by the factor."""
    divisors = yarn_divisors(128, 10_000.0, 16.0, 4096, 32.0, 1.0)
    turns = 4096 * 10_000.0 ** (-np.arange(64) / 64) / (2 * np.pi)  # (64,)
    assert (divisors[turns > 36] == 1.0).all()
    assert np.allclose(divisors[turns < 0.86], 16.0)
    between = divisors[(turns < 32) & (turns > 1)]
    assert (np.diff(between) > 0).all()
    assert yarn_magnitude(16.0) == pytest.approx(1.2772589)
    assert yarn_magnitude(0.5) == 1.0
