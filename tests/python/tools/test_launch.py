"""Running an engine, here a bash script: whose output goes where, and what its end means."""

import os
import signal
import time
from pathlib import Path

import pytest

from setup import launch
from setup.engine import Engine
from setup.engine_process import INTERRUPTED, TIMED_OUT, Streams, run
from setup.launch import Launcher


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(launch, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(launch, "ROOT", tmp_path)
    monkeypatch.setattr(launch, "ENGINE_LOG", tmp_path / "cache" / "engine.log")
    return tmp_path / "cache"


@pytest.fixture
def launcher(cache: Path, tmp_path: Path):
    def make(text: str) -> Launcher:
        program = tmp_path / "godot"
        program.write_text(f"#!/usr/bin/env bash\n{text}\n")
        program.chmod(0o755)
        return Launcher(Engine(program, "4.6.3", private=False))

    return make


def test_only_what_the_command_says_is_seen(launcher, cache: Path, capfd) -> None:
    engine = launcher("echo chatter; echo noise >&2; echo answer >&$LLM_STDOUT_FD; exit 0")
    assert engine.module("a.module", ["word"], headless=True) == 0
    assert capfd.readouterr() == ("answer\n", "")
    assert (cache / "engine.log").read_text() == "chatter\nnoise\n"


def test_the_module_and_its_words_come_after_the_dashes(launcher, capfd) -> None:
    engine = launcher('for word; do printf "[%s]" "$word" >&$LLM_STDOUT_FD; done')
    engine.module("a.module", ["two words", ""], headless=True)
    said = capfd.readouterr().out
    assert said.startswith("[--path]")
    assert "[--headless]" in said
    assert said.endswith(f"[--script][{launch.RUNNER}][--][a.module][two words][]")


@pytest.mark.parametrize(
    ("text", "status", "shown"),
    [
        pytest.param("echo noise; exit 1", 1, "", id="a failed run speaks for itself"),
        pytest.param("echo noise; exit 2", 2, "", id="so do bad arguments"),
        pytest.param("echo last words; kill -SEGV $$", 1, "last words", id="a crash shows the log"),
        pytest.param("echo odd; exit 7", 1, "status 7", id="an unknown status does too"),
        pytest.param(
            "echo 'Traceback (most recent call last)'; echo KeyError; exit 1",
            1,
            "KeyError",
            id="an unexpected exception does too",
        ),
    ],
)
def test_exit_status(launcher, capfd, text: str, status: int, shown: str) -> None:
    assert launcher(text).module("a.module", [], headless=True) == status
    said = capfd.readouterr()
    assert said.out == ""
    assert (shown in said.err) if shown else (said.err == "")


def test_logs_of_killed_runs_go_and_those_of_running_ones_stay(launcher, cache: Path) -> None:
    cache.mkdir()
    gone = cache / "engine.999999999.log"
    running = cache / f"engine.{os.getppid()}.log"
    gone.touch()
    running.touch()
    launcher("exit 0").module("a.module", [], headless=True)
    assert not gone.exists()
    assert running.exists()


def test_a_run_over_its_limit_is_ended() -> None:
    started = time.monotonic()
    assert run(["sleep", "60"], {}, Streams(), limit_s=0.2) == TIMED_OUT
    assert time.monotonic() - started < 30


@pytest.mark.parametrize(
    ("text", "status"),
    [
        pytest.param("kill -INT $PPID; sleep 0.2; exit 7", 7, id="once: the engine decides"),
        pytest.param(
            "for n in 1 2 3 4 5; do kill -INT $PPID; sleep 0.1; done; exec sleep 60",
            INTERRUPTED,
            id="again and again: an engine that takes no notice is ended",
        ),
        pytest.param("kill -INT $$", INTERRUPTED, id="it may not listen yet"),
        pytest.param(
            "sleep 0.3; kill -TERM $PPID; exec sleep 60", INTERRUPTED, id="SIGTERM always ends it"
        ),
    ],
)
def test_ctrl_c_of_an_interactive_engine(text: str, status: int) -> None:
    started = time.monotonic()
    before = signal.getsignal(signal.SIGINT)
    assert run(["bash", "-c", text], {}, Streams(), interactive=True) == status
    assert time.monotonic() - started < 30
    assert signal.getsignal(signal.SIGINT) is before


def test_the_variables_reach_the_engine(capfd) -> None:
    run(["sh", "-c", "echo $VK_DRIVER_FILES"], {"VK_DRIVER_FILES": "chosen"}, Streams())
    assert capfd.readouterr().out == "chosen\n"
