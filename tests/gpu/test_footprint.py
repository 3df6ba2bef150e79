"""What is said of a model's memory before it loads is what it takes."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.architectures.gemma4 import write_gemma4
from support.loading import finish
from support.tiny_llama import write_tiny_llama

from llm.files.opening import open_model
from llm.generate.model import load_model
from llm.gpu.device.rendering_device import open_device
from llm.gpu.footprint import on_gpu
from llm.gpu.program import ROWS_APART
from llm.models.registry import Limits, make_program

CONTEXT, ROWS = 80, 64
SCRATCH = 8 << 20  # bytes of kernels, at most


def test_memory_on_the_gpu(tmp_path: Path) -> None:
    path = str(write_tiny_llama(tmp_path / "m.gguf"))
    with open_model(path) as file:
        expected = on_gpu(make_program(file, Limits(CONTEXT, ROWS, ROWS_APART)))
    steps = load_model(path, executor="dispatch", context_length=CONTEXT, chunk_rows=ROWS)
    model = finish(steps)
    assert expected.total <= model.memory_bytes < expected.total + SCRATCH
    model.close()


def test_tables_on_the_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are counted where they are, and nothing else changes."""
    path = str(write_gemma4(tmp_path / "m.gguf"))
    with open_model(path) as file:
        program = make_program(file, Limits(CONTEXT, ROWS, ROWS_APART))
    monkeypatch.setattr(open_device(), "is_cpu", False)
    said, taken = [], []
    for has_room in (True, False):
        monkeypatch.setitem(vars(open_device()), "memory", 1 << 40 if has_room else 0)
        said.append(on_gpu(replace(program, tables_in_ram=not has_room)))
        steps = load_model(path, executor="dispatch", context_length=CONTEXT, chunk_rows=ROWS)
        model = finish(steps)
        taken.append(model.memory_bytes)
        model.close()
    table = sum(table.size for table in program.tables)
    assert taken[0] - taken[1] == said[0].total - said[1].total == table
    assert [found.tables for found in said] == [0, table]
