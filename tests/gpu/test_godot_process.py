"""The add-on's start and end in an engine of its own: exit codes, broken set-ups, threads."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from support.engine_project import EngineProject

CRASHED = 128  # exit codes of processes that a signal ended lie above


@pytest.fixture
def project(tmp_path: Path) -> EngineProject:
    return EngineProject(tmp_path)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        pytest.param("return 0", 0, id="zero"),
        pytest.param("return 7", 7, id="another number"),
        pytest.param("raise SystemExit(3)", 3, id="SystemExit"),
        pytest.param("raise SystemExit('text')", 1, id="SystemExit with a text"),
        pytest.param("node.get_tree().quit(5)", 5, id="None, and quitting by itself"),
        pytest.param("return 1 // 0", 1, id="an exception"),
    ],
)
def test_main_decides_the_exit_code(project: EngineProject, body: str, code: int) -> None:
    assert project.run_python(f"def main(node, arguments):\n    {body}\n").returncode == code


def test_main_gets_its_arguments(project: EngineProject) -> None:
    source = "def main(node, arguments):\n    print(arguments)\n    return 0\n"
    done = project.run_python(source, "--flag", "Ж x", "")
    assert "['--flag', 'Ж x', '']" in done.stdout


def test_an_exception_prints_one_traceback(project: EngineProject) -> None:
    done = project.run_python("def main(node, arguments):\n    raise KeyError('lost')\n")
    assert done.stderr.count("Traceback (most recent call last)") == 1
    assert 'program.py", line 2, in main' in done.stderr
    assert "KeyError: 'lost'" in done.stderr


def test_a_module_that_is_not_there(project: EngineProject) -> None:
    done = project.run(["--script", "res://addons/llm/run.gd", "--", "no.such.module"])
    assert done.returncode == 1
    assert "No module named 'no'" in done.stderr


def test_no_module_named(project: EngineProject) -> None:
    done = project.run(["--script", "res://addons/llm/run.gd"])
    assert done.returncode == 2
    assert "name a Python module" in done.stderr


class TestBrokenSetups:
    """Each is one error that says what to do, and the engine goes on without the classes."""

    def run(self, project: EngineProject) -> str:
        done = project.run_python("def main(node, arguments):\n    return 0\n")
        assert done.returncode == 1
        assert "the llm add-on did not start" in done.stderr
        assert done.stderr.count("ERROR: The llm add-on has no classes: ") == 1
        return done.stderr

    def test_no_configuration(self, project: EngineProject) -> None:
        (project.bin / "runtime.cfg").unlink()
        assert "there is no folder llm.linux" in self.run(project)

    @pytest.mark.parametrize(
        "text", ["nonsense\n", "library\n", "what = ever\n", "module = " + "x" * 300 + "\n"]
    )
    def test_a_line_that_is_none(self, project: EngineProject, text: str) -> None:
        (project.bin / "runtime.cfg").write_text(text, encoding="utf-8")
        assert "runtime.cfg:1: expected" in self.run(project)

    def test_a_key_that_is_missing(self, project: EngineProject) -> None:
        (project.bin / "runtime.cfg").write_text("home = .\n", encoding="utf-8")
        assert "`library`, `home` and `path` must all be there" in self.run(project)

    def test_a_library_that_is_missing(self, project: EngineProject) -> None:
        project.write_config(library="/no/such/libpython.so")
        assert "libpython could not be loaded (/no/such/libpython.so" in self.run(project)

    def test_a_library_that_is_not_python(self, project: EngineProject) -> None:
        project.write_config(library=str(next(project.bin.glob("libllm.*"))))
        assert "has no function Py_GetVersion" in self.run(project)

    def test_a_home_without_a_standard_library(self, project: EngineProject) -> None:
        project.write_config(home="/nowhere", path="/nowhere")
        assert "Python did not start (/nowhere)" in self.run(project)

    def test_our_package_is_missing(self, project: EngineProject) -> None:
        config = project.bin / "runtime.cfg"
        lines = config.read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if not line.endswith("/python")]
        config.write_text("\n".join(kept) + "\n", encoding="utf-8")
        errors = self.run(project)
        assert "No module named 'godot" in errors
        assert "godot.startup.initialize failed" in errors


def test_a_start_module_that_fails_is_reported_and_the_rest_works(project: EngineProject) -> None:
    (project.folder / "broken.py").write_text("raise ImportError('broken at line 1')\n", "utf-8")
    project.write_config(module="broken")
    done = project.run_python("def main(node, arguments):\n    return 0\n")
    assert done.returncode == 0
    assert "ImportError: broken at line 1" in done.stderr
    assert "import broken" in done.stderr


@pytest.mark.parametrize("stops", [True, False], ids=["stopped by the hook", "left alone"])
@pytest.mark.parametrize("calls_engine", [True, False], ids=["calling the engine", "in Python"])
def test_threads_at_the_end(project: EngineProject, stops: bool, calls_engine: bool) -> None:
    source = f"""
import threading
import godot

def main(node, arguments):
    stop = threading.Event()
    started = threading.Barrier(3)

    def work():
        started.wait()
        try:
            while not stop.is_set():
                node.get_name() if {calls_engine} else sum(range(100))
        except godot.FreedObjectError:
            pass

    threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    started.wait()

    def end():
        stop.set()
        for thread in threads:
            thread.join()
        print("all stopped")

    if {stops}:
        godot.on_shutdown(end)
    return 9
"""
    done = project.run_python(source)
    assert done.returncode == 9
    assert ("all stopped" in done.stdout) == stops


def test_the_last_hook_added_is_called_first_and_a_failing_one_is_reported(
    project: EngineProject,
) -> None:
    source = """
import godot

def fail():
    raise OSError("cannot stop")

def main(node, arguments):
    godot.on_shutdown(lambda: print("first"))
    godot.on_shutdown(fail)
    godot.on_shutdown(lambda: print("last"))
    return 0
"""
    done = project.run_python(source)
    assert done.returncode == 0
    assert done.stdout.index("last") < done.stdout.index("first")
    assert "OSError: cannot stop" in done.stderr


def test_nothing_of_ours_is_left_when_the_engine_ends(project: EngineProject) -> None:
    source = """
import godot

def main(node, arguments):
    held = godot.RDUniform()
    node.set_meta("held", [held, b"bytes", {"k": "v"}, lambda: 1])
    node.get_meta("held", None)
    return 0
"""
    done = project.run_python(source)
    assert done.returncode == 0
    assert "leaked" not in done.stderr
    assert "Orphan StringName" not in done.stdout + done.stderr


def test_the_interpreter_is_cut_off_from_the_users(
    project: EngineProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/from/the/environment")
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    source = """
import signal, sys

def main(node, arguments):
    assert "/from/the/environment" not in sys.path
    assert sys.flags.isolated and sys.flags.no_site and sys.flags.utf8_mode
    assert signal.getsignal(signal.SIGINT) == signal.SIG_DFL
    return 0
"""
    # a shell starts what it leaves in the background with SIGINT ignored, which is inherited
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        done = project.run_python(source)
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.returncode == 0, done.stderr
