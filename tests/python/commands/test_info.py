"""What `./llm info` says of a file."""

import json
from pathlib import Path

import numpy as np
import pytest
from support.gguf_builder import GgufBuilder

from llm.commands import info


@pytest.fixture
def model(tmp_path: Path) -> Path:
    builder = GgufBuilder()
    builder.add("general.architecture", "gemma3").add("general.name", "Small")
    builder.add("gemma3.epsilon", float("inf")).add("tokenizer.ggml.scores", [0.5, 1.5, 2.5])
    builder.tensor("a", (2, 32), "q8_0", np.zeros((2, 32), np.float32))
    builder.tensor("b", (3,), "f32", np.zeros(3, np.float32))
    path = tmp_path / "small.gguf"
    path.write_bytes(builder.build())
    return path


def test_json_holds_every_fact(model: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert info.main(None, [str(model), "--json"]) == 0
    facts = json.loads(capfd.readouterr().out, parse_constant=pytest.fail)
    assert facts == {
        "path": str(model),
        "version": 3,
        "name": "Small",
        "architecture": "gemma3",
        "supported": True,
        "parameters": 2 * 32 + 3,
        "tensor_bytes": 2 * 34 + 3 * 4,
        "tensors": 2,
        "formats": {"q8_0": 1, "f32": 1},
        "metadata": {
            "general.architecture": "gemma3",
            "general.name": "Small",
            "gemma3.epsilon": "inf",
            "tokenizer.ggml.scores": "[3 values]",
        },
    }


def test_text_names_the_model_and_its_formats(
    model: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert info.main(None, [str(model)]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0] == "Small  (gemma3, runs here)"
    assert lines[2] == "2 tensors: q8_0 ×1, f32 ×1"
    assert "tokenizer.ggml.scores = [3 values]" in lines


def test_a_bad_file_is_one_line_and_status_1(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "not_gguf"
    path.write_bytes(b"hello, this is no model file at all")
    assert info.main(None, [str(path)]) == 1
    said = capfd.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert str(path) in said.err
