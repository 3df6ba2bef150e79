"""`./llm info`: the facts of sound files, and one line for all others."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.gguf_builder import GgufBuilder
from support.sample_gguf import gemma_shaped, rich

from llm.commands.info import main


@pytest.fixture(scope="module")
def gemma(tmp_path_factory: pytest.TempPathFactory) -> str:
    return gemma_shaped(1_000).write(tmp_path_factory.mktemp("models") / "gemma.gguf")


def facts_of(path: str, capfd: pytest.CaptureFixture[str]) -> dict[str, object]:
    assert main(None, [path, "--json"]) == 0
    found = capfd.readouterr()
    assert (found.err, found.out.count("\n")) == ("", 1)
    return json.loads(found.out)


def test_json(gemma: str, capfd: pytest.CaptureFixture[str]) -> None:
    embedding = 1_000 * 640
    weights_of_layer = 640 * (1024 + 256 + 256 + 1024 + 3 * 2048)
    norms_of_layer = 4 * 640 + 2 * 256
    cache = 18 * 1 * (256 + 256) * 4096 * 2
    found = facts_of(gemma, capfd)
    formats = found.pop("formats")
    assert found == {
        "file": gemma,
        "file_bytes": os.path.getsize(gemma),
        "gguf_version": 3,
        "architecture": "gemma3",
        "supported": True,
        "name": "Gemma-shaped",
        "parameters": embedding + 640 + 18 * (weights_of_layer + norms_of_layer),
        "tensor_bytes": sum(share["bytes"] for share in formats.values()),
        "context_length": 32768,
        "layers": 18,
        "width": 640,
        "heads": 4,
        "kv_heads": 1,
        "head_size": 256,
        "vocabulary": 1_000,
        "tokenizer": "llama",
        "chat_template": False,
        "memory_context": 4096,
        "cache_bytes": cache,
        "memory_bytes": found["tensor_bytes"] + cache,
    }
    assert list(formats) == ["q5_0", "q6_k", "q4_k", "q8_0", "f32"]  # the largest first
    assert formats["q8_0"] == {
        "tensors": 19,
        "parameters": embedding + 18 * 256 * 640,
        "bytes": (embedding + 18 * 256 * 640) // 32 * 34,
    }


def test_table(gemma: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(None, [gemma]) == 0
    lines = capfd.readouterr().out.splitlines()
    rows = {line[:17].strip(): line[17:].strip() for line in lines}
    assert rows["architecture"] == "gemma3"
    assert rows["parameters"] == "101 M (100,966,016)"
    assert rows["context length"] == "32,768"
    assert rows["chat template"] == "no"
    assert rows["q4_k"] == "6.3 MiB  in 18 tensors"
    assert rows["weights"] == "69.2 MiB"
    assert rows["memory"] == (
        "141.2 MiB at 4,096 tokens: the weights and 72.0 MiB of keys and values"
    )


def test_a_file_that_says_little(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = rich().write(tmp_path / "rich.gguf")
    found = facts_of(path, capfd)
    assert found["name"] == "A rich file: ünïcode 🦊"
    assert found["supported"] is False  # its formats are not all for the kernels
    for key in ("layers", "heads", "vocabulary", "tokenizer", "cache_bytes", "memory_bytes"):
        assert found[key] is None
    assert main(None, [path]) == 0
    table = capfd.readouterr().out
    assert "layers           not given\n" in table
    assert "memory" not in table


def test_heads_may_differ_by_layer(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    made = GgufBuilder().add("general.architecture", "odd").add("odd.block_count", 3)
    made.add("odd.embedding_length", 64).add("odd.context_length", 100)
    made.add("odd.attention.head_count", np.array([8, 8, 4], np.int32))
    made.add("odd.attention.head_count_kv", np.array([4, 2, 1], np.int32))
    found = facts_of(made.write(tmp_path / "m.gguf"), capfd)
    assert found["supported"] is False
    assert (found["heads"], found["kv_heads"], found["head_size"]) == (8, 4, 8)
    assert found["memory_context"] == 100
    assert found["cache_bytes"] == (4 + 2 + 1) * (8 + 8) * 100 * 2


def test_text_of_the_file_cannot_break_the_table(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    made = GgufBuilder().add("general.architecture", "x").add("general.name", "two\nlines\x1b[31m")
    assert main(None, [made.write(tmp_path / "m.gguf")]) == 0
    assert "name             two\\nlines\\x1b[31m\n" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "file: is empty (0 bytes)", id="empty"),
        pytest.param(
            GgufBuilder().add("general.name", "x").build(),
            "general.architecture: is missing from the metadata",
            id="no architecture",
        ),
        pytest.param(
            GgufBuilder().add("general.architecture", 3).build(),
            "general.architecture: expected text, found 3",
            id="a number for an architecture",
        ),
    ],
)
def test_errors_are_one_line(
    tmp_path: Path, content: bytes, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "two\nlines.gguf"
    path.write_bytes(content)
    assert main(None, [str(path), "--json"]) == 1
    found = capfd.readouterr()
    assert found.out == ""
    assert found.err == f"llm: {tmp_path}/two\\nlines.gguf: {message}\n"


def test_as_a_program(gemma: str) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "llm.commands.info", *arguments],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / "python")},
            capture_output=True,
            text=True,
            check=False,
        )

    assert run(gemma).stdout.startswith(f"file             {gemma}\n")
    assert run(gemma + "x").returncode == 1
    assert run().returncode == 2
