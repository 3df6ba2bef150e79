"""What models with experts ask of a file, and what they say where it has something else."""

from pathlib import Path
from typing import Any

import pytest
from support.architectures import gpt_oss, granitemoe, olmoe, qwen2moe, qwen3moe
from support.tiny_experts import FEED_FORWARD

from llm.errors import ModelFileError, UnsupportedModelError
from llm.files.gguf import GgufFile
from llm.gpu.operations import Attend, ExpertMatMul, GatedAdd, Route
from llm.gpu.program import Program
from llm.models.registry import Limits, make_program


def program_of(path: Path) -> Program:
    with GgufFile.open(str(path)) as file:
        return make_program(file, Limits(96, 8, 1))


@pytest.mark.parametrize(
    ("metadata", "error", "message"),
    [
        ({"expert_count": None}, ModelFileError, "qwen3moe.expert_count: is missing"),
        ({"expert_count": 0}, ModelFileError, "qwen3moe.expert_count: is 0, but must be 1 to"),
        ({"expert_used_count": 0}, ModelFileError, "expert_used_count: is 0, but must be 1 to 7"),
        ({"expert_used_count": 8}, ModelFileError, "expert_used_count: is 8, but must be 1 to 7"),
        ({"expert_count": 513}, UnsupportedModelError, "expert_count is '513'.*up to 512"),
        (
            {"expert_count": 99, "expert_used_count": 33},
            UnsupportedModelError,
            "expert_used_count is '33'.*up to 32",
        ),
        (
            {"expert_feed_forward_length": 64},
            ModelFileError,
            "ffn_gate_exps.weight: has the shape 7x96x320, the metadata ask for 7x64x320",
        ),
        ({"expert_count": 6}, ModelFileError, "ffn_gate_inp.weight: has the shape 7x320"),
    ],
)
def test_metadata_that_do_not_fit(
    tmp_path: Path, metadata: dict[str, Any], error: type[Exception], message: str
) -> None:
    keys = {f"qwen3moe.{key}": value for key, value in metadata.items()}
    path = qwen3moe.write(tmp_path / "tiny.gguf", metadata=keys)
    with pytest.raises(error, match=message):
        program_of(path)


@pytest.mark.parametrize("name", ["ffn_up_exps", "ffn_gate_inp", "attn_q_norm"])
def test_a_tensor_is_missing(tmp_path: Path, name: str) -> None:
    path = qwen3moe.write(tmp_path / "tiny.gguf", without=(f"blk.1.{name}.weight",))
    with pytest.raises(ModelFileError, match=f"tensor blk.1.{name}.weight: missing"):
        program_of(path)


def test_layers_see_a_window_and_all_by_turns(tmp_path: Path) -> None:
    tape = program_of(gpt_oss.write(tmp_path / "tiny.gguf")).record(1, 1)
    attends = [op for op in tape.operations if isinstance(op, Attend)]
    assert [op.window for op in attends] == [7, 0, 7, 0]
    assert all(op.sinks is not None for op in attends)
    assert all(op.bias is not None for op in tape.operations if isinstance(op, ExpertMatMul))


def test_shares(tmp_path: Path) -> None:
    """Where they sum up to 1, and where another expert has one of its own."""
    for write, normalised, added in (
        (qwen3moe.write, True, 0),
        (olmoe.CASES["norms of all heads"], False, 0),
        (qwen2moe.CASES["an expert that all use"], False, 3),
        (granitemoe.CASES["an expert that all use"], True, 0),
    ):
        tape = program_of(write(tmp_path / "tiny.gguf")).record(1, 1)
        routes = [op for op in tape.operations if isinstance(op, Route)]
        assert {op.normalised for op in routes} == {normalised}
        assert len([op for op in tape.operations if isinstance(op, GatedAdd)]) == added


def test_experts_as_wide_as_the_feed_forward(tmp_path: Path) -> None:
    """Of files that give them no width of their own."""
    tape = program_of(olmoe.CASES["norms of all heads"](tmp_path / "tiny.gguf")).record(1, 1)
    first = next(op for op in tape.operations if isinstance(op, ExpertMatMul))
    assert first.height == FEED_FORWARD
