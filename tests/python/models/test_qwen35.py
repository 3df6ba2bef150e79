"""Qwen3.5's files: which layers attend, what a slot holds, and broken ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.architectures.qwen35 import INTERVAL, LAYERS, write_tiny_qwen35

from llm.errors import ModelFileError, UnsupportedModelError
from llm.files.gguf import GgufFile
from llm.gpu.operations import Attend, Convolve, DeltaRule, HeadMapping
from llm.gpu.program import Program
from llm.models.registry import Limits, make_program


def program_of(path: Path) -> Program:
    with GgufFile.open(str(path)) as file:
        return make_program(file, Limits(96, 8, 1))


def test_layers(tmp_path: Path) -> None:
    program = program_of(write_tiny_qwen35(tmp_path / "tiny.gguf"))
    operations = program.record(4, 1).operations
    mixing = [type(op) for op in operations if isinstance(op, Attend | DeltaRule)]
    assert mixing == ([DeltaRule] * (INTERVAL - 1) + [Attend]) * (LAYERS // INTERVAL)
    rules = [op for op in operations if isinstance(op, DeltaRule)]
    assert {op.mapping for op in rules} == {HeadMapping.TILED}
    states = [op.state for op in operations if isinstance(op, Convolve | DeltaRule)]
    assert sum(state.floats for state in states) == program.state_words
    assert [state.start for state in states] == [0, *(state.end for state in states[:-1])]


def test_further_blocks_are_left_alone(tmp_path: Path) -> None:
    """Files of Qwen3.5 have one that predicts a token more."""
    path = write_tiny_qwen35(tmp_path / "tiny.gguf", further=1)
    operations = program_of(path).record(1, 1).operations
    assert sum(isinstance(op, Attend | DeltaRule) for op in operations) == LAYERS


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"block_count": None}, "qwen35.block_count"),
        ({"nextn_predict_layers": 8}, "nextn_predict_layers: is 8, but must be 0 to 7"),
        ({"full_attention_interval": 9}, "interval: 9 leaves none of 8 layers to attend"),
        ({"full_attention_interval": 2}, "blk.1.attn_q.weight: missing"),
        ({"attention.head_count_kv": 3}, "4 heads do not share 3 key/value heads"),
        ({"attention.key_length": 36}, "36 is not a multiple of 8"),
        (
            {"rope.dimension_count": 42, "rope.dimension_sections": None},
            "rope.dimension_count: 42 is not even and up to",
        ),
        ({"ssm.group_count": 4}, "time_step_rank: 6 heads do not share 4 key heads"),
        ({"ssm.state_size": 18}, "state_size: 18 is not a multiple of 4"),
        ({"ssm.state_size": 512}, "state_size: is 512, but must be 4 to 256"),
        ({"ssm.inner_size": 90}, "inner_size: 90 is not 6 heads of 16"),
        ({"ssm.conv_kernel": 1}, "conv_kernel: is 1, but must be 2 to 16"),
        ({"attention.layer_norm_rms_epsilon": 0.0}, "0.0 is not above 0"),
        ({"rope.freq_base": -1.0}, "rope.freq_base: -1.0 is not above 0"),
    ],
)
def test_metadata_that_do_not_fit(tmp_path: Path, metadata: dict[str, Any], message: str) -> None:
    changes = {f"qwen35.{key}": value for key, value in metadata.items()}
    path = write_tiny_qwen35(tmp_path / "broken.gguf", metadata=changes)
    with pytest.raises(ModelFileError, match=message):
        program_of(path)


@pytest.mark.parametrize("name", ["blk.3.attn_q.bias", "blk.0.ffn_norm.weight", "output_norm.bias"])
def test_what_is_not_used_is_refused(tmp_path: Path, name: str) -> None:
    path = write_tiny_qwen35(tmp_path / "other.gguf", replaced={name: np.ones(4)})
    with pytest.raises(UnsupportedModelError, match=f"tensor is '{name}'"):
        program_of(path)


def test_sections_leave_no_pair_out(tmp_path: Path) -> None:
    """Of the six pairs that turn, the first three sections have every third."""
    for sections, is_whole in (([2, 2, 2, 0], True), ([3, 2, 2, 1], True), ([3, 2, 1, 0], False)):
        changes = {"qwen35.rope.dimension_sections": sections}
        path = write_tiny_qwen35(tmp_path / "tiny.gguf", metadata=changes)
        if is_whole:
            program_of(path)
            continue
        with pytest.raises(
            UnsupportedModelError, match=r"sections is '\[3, 2, 1, 0\]'.* all 6 pairs"
        ):
            program_of(path)
