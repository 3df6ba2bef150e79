"""LFM2's files: which layers convolve, what a slot holds, and broken ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.architectures.lfm2 import KV_HEADS_OF_LAYERS, WIDTH, write_tiny_lfm2

from llm.errors import ModelFileError, UnsupportedModelError
from llm.files.gguf import GgufFile
from llm.gpu.operations import Attend, Convolve, MatMul
from llm.gpu.program import Program
from llm.models.registry import Limits, make_program


def program_of(path: Path) -> Program:
    with GgufFile.open(str(path)) as file:
        return make_program(file, Limits(96, 8, 1))


def test_layers(tmp_path: Path) -> None:
    program = program_of(write_tiny_lfm2(tmp_path / "tiny.gguf"))
    operations = program.record(4, 1).operations
    mixing = [type(op) for op in operations if isinstance(op, Attend | Convolve)]
    assert mixing == [Attend if heads else Convolve for heads in KV_HEADS_OF_LAYERS]
    convolutions = [op for op in operations if isinstance(op, Convolve)]
    starts = [op.state.start for op in convolutions]
    assert starts == [2 * WIDTH * number for number in range(len(convolutions))]
    assert program.state_words == 2 * WIDTH * len(convolutions)
    last = operations[-1]
    assert isinstance(last, MatMul)
    assert last.weight.name == "token_embd.weight"


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"attention.head_count_kv": [0, 2, 0]}, "head_count_kv: has 3 numbers for 6 layers"),
        ({"attention.head_count_kv": [2] * 6}, r"head_count_kv: has \[2\]; 0 and one number"),
        ({"attention.head_count_kv": [0] * 6}, r"head_count_kv: has \[0\]; 0 and one number"),
        ({"attention.head_count_kv": [0, 1, 2, 0, 0, 0]}, r"has \[0, 1, 2\]; 0 and one"),
        ({"attention.head_count_kv": [0, 3, 0, 0, 3, 0]}, "4 heads do not share 3"),
        ({"attention.head_count_kv": 2}, "head_count_kv.*array"),
        ({"attention.key_length": 20}, "20 is not a multiple of 8"),
        ({"attention.head_count": 0}, "head_count"),
        ({"shortconv.l_cache": 1}, "l_cache: is 1, but must be 2 to 16"),
        ({"shortconv.l_cache": None}, "l_cache"),
        ({"shortconv.l_cache": 4}, "shortconv.conv.weight: has the shape 96x3, .* ask for 96x4"),
        ({"rope.freq_base": -1.0}, "rope.freq_base: -1.0 is not above 0"),
    ],
)
def test_metadata_that_do_not_fit(tmp_path: Path, metadata: dict[str, Any], message: str) -> None:
    changes = {f"lfm2.{key}": value for key, value in metadata.items()}
    path = write_tiny_lfm2(tmp_path / "broken.gguf", metadata=changes)
    with pytest.raises(ModelFileError, match=message):
        program_of(path)


def test_tensors_that_do_not_fit(tmp_path: Path) -> None:
    path = write_tiny_lfm2(tmp_path / "broken.gguf", without=("blk.0.shortconv.conv.weight",))
    with pytest.raises(ModelFileError, match=r"shortconv\.conv\.weight: missing"):
        program_of(path)
    biased = {"blk.1.attn_q.bias": np.ones(WIDTH)}
    path = write_tiny_lfm2(tmp_path / "biased.gguf", replaced=biased)
    with pytest.raises(UnsupportedModelError, match="files without it"):
        program_of(path)


@pytest.mark.parametrize(
    ("metadata", "error", "message"),
    [
        ({"expert_gating_func": 1}, UnsupportedModelError, r"gating_func is '1'.*2 \(sigmoid\)"),
        ({"expert_gating_func": None}, ModelFileError, "gating_func"),
        ({"leading_dense_block_count": 7}, ModelFileError, "is 7, but must be 0 to 6"),
        ({"leading_dense_block_count": 3}, ModelFileError, "blk.2.ffn_gate.weight: missing"),
        ({"expert_used_count": 10}, ModelFileError, "is 10, but must be 1 to 9"),
    ],
)
def test_experts_that_do_not_fit(
    tmp_path: Path, metadata: dict[str, Any], error: type[Exception], message: str
) -> None:
    changes = {f"lfm2moe.{key}": value for key, value in metadata.items()}
    path = write_tiny_lfm2(
        tmp_path / "broken.gguf", architecture="lfm2moe", leading=2, metadata=changes
    )
    with pytest.raises(error, match=message):
        program_of(path)
