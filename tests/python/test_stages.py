"""The package is a pipeline: a stage imports only itself and the stages before it."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from llm import STAGES

PYTHON = Path(__file__).parents[2] / "python"
KNOW_GODOT = ("llm/nodes/", "llm/commands/", "llm/gpu/device/rendering_device.py")
HEAVY = ("numpy", "gguf", "sentencepiece", "jinja2", "tokenizers")


def imported_modules(source: str) -> Iterator[str]:
    """Every module that is imported anywhere, as a dotted name; relative ones start with a dot."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = "." * node.level + (node.module or "")
            yield from (f"{start}.{alias.name}" for alias in node.names)


def files_of(stage: str) -> list[Path]:
    return [*PYTHON.glob(f"llm/{stage}.py"), *PYTHON.glob(f"llm/{stage}/**/*.py")]


@pytest.mark.parametrize("stage", STAGES)
def test_imports_point_upstream(stage: str) -> None:
    paths = files_of(stage)
    assert paths, f"stage '{stage}' has no files"
    later = STAGES[STAGES.index(stage) + 1 :]
    for path in paths:
        names = [name.split(".") for name in imported_modules(path.read_text())]
        assert all(parts[0] for parts in names), f"{path}: imports name the whole path"
        stages = {parts[1] for parts in names if parts[0] == "llm" and len(parts) > 1}
        assert not stages & set(later), f"{path} reaches forward"
        assert not stages - {*STAGES, "STAGES"}, f"{path} imports what is no stage"


def test_every_file_belongs_to_a_stage() -> None:
    staged = {path for stage in STAGES for path in files_of(stage)}
    assert set(PYTHON.glob("llm/**/*.py")) - staged == {PYTHON / "llm/__init__.py"}


def test_few_files_know_godot() -> None:
    for path in PYTHON.glob("llm/**/*.py"):
        name = path.relative_to(PYTHON).as_posix()
        roots = {module.split(".")[0] for module in imported_modules(path.read_text())}
        assert "godot" not in roots or name.startswith(KNOW_GODOT), f"{name} imports godot"


def test_godot_knows_nothing_of_us() -> None:
    for path in PYTHON.glob("godot/**/*.py"):
        roots = {module.split(".")[0] for module in imported_modules(path.read_text())}
        assert "llm" not in roots, f"{path} imports llm"


def test_what_the_main_thread_imports_is_light() -> None:
    """A node may be made at engine start, long before anything heavy is needed."""
    program = (
        "import sys, llm.generate.client, llm.generate.embedding_client\n"
        "import llm.generate.vector_entry\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    made = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(PYTHON)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert made.stdout.strip() == "[]"
