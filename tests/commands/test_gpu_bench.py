"""`python3 tools/gpu_bench`, from packing Godot's release template to the table."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from commands.conftest import LIMIT_S, ROOT
from support.tiny_gemma import write_tiny_gemma

from gpu_bench import template
from setup.report import SetupError


def gpu_bench(*words: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(ROOT / "tools" / "gpu_bench"), *map(str, words)],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def test_the_release_template_runs_our_executor(tmp_path: Path) -> None:
    try:
        template.find(None)
    except SetupError as problem:
        assert not template.ENGINE.is_dir(), problem  # the private engine comes with one
        pytest.skip(str(problem))
    model = write_tiny_gemma(tmp_path / "tiny.gguf")
    work = ["--prompt-tokens", 21, "--tokens", 3, "--positions", "7,33", "--repeat", 2]
    words = ["--model", model, "--executor", "dispatch", "--folder", tmp_path / "made", *work]
    done = gpu_bench("pack", "ours", "table", *words)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads((tmp_path / "made" / "table.json").read_text())
    assert (row["model"], row["engine"], row["runs"]) == ("tiny", "dispatch", 2)
    assert row["file_bytes"] == model.stat().st_size
    assert list(row["decode_tps"]) == ["7", "33"]
    assert row["prompt_tps"] > 1
    assert min(row["decode_tps"].values()) > 1
    assert "| tiny | dispatch |" in done.stdout


@pytest.mark.parametrize(
    ("words", "status", "problem"),
    [
        pytest.param(["everything"], 2, "there is no step 'everything'", id="an unknown step"),
        pytest.param(["ours"], 1, "run the step pack first", id="no pack"),
        pytest.param(["llama", "--model", "none.gguf"], 1, "the step files", id="no model"),
        pytest.param(["table"], 1, "nothing was measured", id="no results"),
    ],
)
def test_mistakes(tmp_path: Path, words: list[str], status: int, problem: str) -> None:
    done = gpu_bench(*words, "--folder", tmp_path)
    assert done.returncode == status
    assert problem in done.stderr
    assert "Traceback" not in done.stderr
