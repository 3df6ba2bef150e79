"""What is said of a model's memory before it loads is what it takes."""

from pathlib import Path

from support.loading import finish
from support.tiny_llama import write_tiny_llama

from llm.files.opening import open_model
from llm.generate.model import load_model
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
