"""Runs `./llm` as a person would, from another folder."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIMIT_S = 240.0

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def llm(tmp_path: Path) -> Run:
    """`llm(*words, stdin=None, **environment)`: its exit status and what it printed."""

    def run(
        *words: str, stdin: str | None = None, **environment: str
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [str(ROOT / "llm"), *words],
            cwd=tmp_path,
            env={**os.environ, **environment},
            input=stdin if stdin is not None else "",
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )

    return run
