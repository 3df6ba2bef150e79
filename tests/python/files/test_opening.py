"""Whatever a path leads to opens at once, however much is in it."""

import json
import struct
import time
from pathlib import Path
from typing import Any

import pytest
from support.gguf_builder import U16, GgufBuilder
from support.safetensors_builder import small_tokenizer, write_folder
from support.sample_gguf import gemma_shaped
from support.tiny_folders import LLAMA_CONFIG

from llm.files.opening import open_model

VOCABULARY = 262_144
LAYERS, EXPERTS = 48, 400
SECONDS = 0.5 + 0.1 * VOCABULARY / 100_000


def best_of_three(path: Path) -> float:
    """CPU seconds: others may use the machine meanwhile."""
    times = []
    for _ in range(3):
        start = time.process_time()
        open_model(str(path)).close()
        times.append(time.process_time() - start)
    return min(times)


def experts() -> list[str]:
    return [
        f"model.layers.{layer}.mlp.experts.{number}.{kind}_proj.weight"
        for layer in range(LAYERS)
        for kind in ("gate", "up", "down")
        for number in range(EXPERTS // 3)
    ]


def vocabulary() -> dict[str, Any]:
    """Twice as many merges as tokens, as Gemma's has."""
    made = small_tokenizer(VOCABULARY)
    made["model"]["merges"] *= 2
    return made


def test_a_folder_of_many_experts(tmp_path: Path) -> None:
    folder = write_folder(
        tmp_path,
        LLAMA_CONFIG | {"vocab_size": VOCABULARY},
        {},
        tokenizer=vocabulary(),
    )
    entries = {
        name: {"dtype": "BF16", "shape": [4, 8], "data_offsets": [64 * place, 64 * place + 64]}
        for place, name in enumerate(experts())
    }
    header = json.dumps(entries).encode()
    data = struct.pack("<Q", len(header)) + header + bytes(64 * len(entries))
    (folder / "model.safetensors").write_bytes(data)
    assert best_of_three(folder) < SECONDS


@pytest.mark.parametrize("parts", [1, 3])
def test_files_of_many_tensors(tmp_path: Path, parts: int) -> None:
    paths = [tmp_path / f"m-{part + 1:05d}-of-{parts:05d}.gguf" for part in range(parts)]
    for number, path in enumerate(paths):
        made = GgufBuilder() if number else gemma_shaped(VOCABULARY)
        made.add("split.no", number, U16).add("split.count", parts, U16)
        for name in experts()[number::parts]:
            made.tensor(name, (4, 8), "f32", 128)
        made.write(path)
    assert best_of_three(paths[0]) < SECONDS
