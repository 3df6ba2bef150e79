"""What a run's end means. The engine and llama.cpp are bash scripts here."""

import json
import signal
import sys
from pathlib import Path

import pytest

from gpu_bench import measure
from gpu_bench.measure import MeasureError, Work
from gpu_bench.template import Template
from llm.commands.arguments import parse

FACTS = {"executor": "dispatch", "prompt_tps": 2.5}


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work("a", tmp_path / "a model.gguf", 12, 3, (5, 70))


def ours(tmp_path: Path, work: Work, script: str, limit_s: float = 20.0):
    program = tmp_path / "bench"
    program.write_text(f"#!/bin/bash\n{script}\n")
    program.chmod(0o755)
    packed = Template(str(program), is_script=True, is_private=False)
    log = tmp_path / "engine.log"
    return measure.measure_ours(packed, {}, "dispatch", work, log, limit_s)


def test_figures_come_apart_from_the_chatter(tmp_path: Path, work: Work) -> None:
    script = f"echo '{{chatter}}'; echo '{json.dumps(FACTS)}' >&$LLM_STDOUT_FD"
    assert ours(tmp_path, work, script) == {**FACTS, "status": 0}
    assert (tmp_path / "engine.log").read_text() == "{chatter}\n"


def test_figures_count_though_the_driver_crashes_at_the_end(tmp_path: Path, work: Work) -> None:
    script = f"echo '{json.dumps(FACTS)}' >&$LLM_STDOUT_FD; kill -SEGV $$"
    assert ours(tmp_path, work, script) == {**FACTS, "status": -signal.SIGSEGV}


def test_the_template_reads_our_options(tmp_path: Path, work: Work) -> None:
    words = tmp_path / "words"
    script = f"echo \"${{@: -1}}\" > {words}; echo '{json.dumps(FACTS)}' >&$LLM_STDOUT_FD"
    ours(tmp_path, work, script)
    options = parse("bench", [words.read_text().strip()])
    assert options.model == str(work.path)
    assert (options.prompt_tokens, options.tokens) == (12, 3)
    assert options.positions == (5, 70)
    assert options.executor == "dispatch"
    assert options.json


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        pytest.param("echo no device >&2; exit 1", "status 1, saying:\nno device", id="a failure"),
        pytest.param("exit 0", "status 0, saying nothing", id="silence"),
        pytest.param("exec sleep 60", "too long", id="a run over its limit"),
        pytest.param(
            """echo '{"executor": "other"}' >&$LLM_STDOUT_FD""", "went on as other", id="a fallback"
        ),
    ],
)
def test_a_run_without_figures(tmp_path: Path, work: Work, script: str, problem: str) -> None:
    with pytest.raises(MeasureError, match=problem):
        ours(tmp_path, work, script, limit_s=0.5)


def test_llama_cpp_gets_the_same_work(work: Work) -> None:
    program = "import json, sys; print(json.dumps({'words': sys.argv[1:]}))"
    found = measure.measure_llama_cpp([sys.executable, "-c", program], work, 20.0)
    assert found["words"][1:] == [str(work.path), "12", "3", "5", "70"]


def test_a_python_without_llama_cpp_is_told(work: Work) -> None:
    with pytest.raises(MeasureError, match=r"has no llama\.cpp: give it the wheel"):
        measure.measure_llama_cpp([sys.executable], work, 20.0)
    with pytest.raises(MeasureError, match="does not start"):
        measure.measure_llama_cpp(["/nowhere/python"], work, 20.0)
