"""Bad arguments and bad files: one line on stderr, and the exit status says which it was."""

from pathlib import Path

import pytest
from commands.conftest import Run


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        pytest.param([], "usage:", id="nothing"),
        pytest.param(["talk"], "no command 'talk'", id="unknown command"),
        pytest.param(["chat", "--temperature", "hot"], "'hot' is not a number", id="no number"),
        pytest.param(["chat", "--prompt", ""], "it is empty", id="an empty prompt"),
        pytest.param(["bench", "--tokens", "0"], "1 or more", id="no tokens"),
        pytest.param(["demo", "castle"], "invalid choice", id="unknown demo"),
        pytest.param(["perplexity"], "--file", id="no file"),
        pytest.param(["info"], "FILE", id="no model"),
        pytest.param(["test", "everything"], "no group 'everything'", id="unknown group"),
        pytest.param(["setup", "now"], "takes no options", id="an option too many"),
    ],
)
def test_bad_arguments(llm: Run, words: list[str], problem: str) -> None:
    done = llm(*words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert problem in done.stderr
    if words:
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["info", "bad.gguf"], id="info"),
        pytest.param(["chat", "--prompt", "Hi", "--model", "bad.gguf"], id="chat"),
        pytest.param(["bench", "--model", "bad.gguf"], id="bench"),
        pytest.param(["perplexity", "--file", "text", "--model", "bad.gguf"], id="perplexity"),
    ],
)
def test_a_bad_model_is_a_failed_run(llm: Run, tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "bad.gguf").write_bytes(b"this is no model")
    (tmp_path / "text").write_text("some text " * 200)
    done = llm(*words)
    assert done.returncode == 1
    assert done.stdout == ""
    assert str(tmp_path / "bad.gguf") in done.stderr  # the caller's folder, not the project's
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        pytest.param(["perplexity", "--file", "none"], "none: No such file", id="no text"),
        pytest.param(["perplexity", "--file", "."], "Is a directory", id="a folder for a text"),
        pytest.param(["perplexity", "--file", "bytes"], "is no UTF-8 text", id="no UTF-8"),
        pytest.param(["perplexity", "--file", "short"], "a perplexity needs 4", id="a short text"),
        pytest.param(
            ["perplexity", "--file", "short", "--save-logits", "none/x.npy"],
            "none/x.npy: No such file",
            id="nowhere to save",
        ),
        pytest.param(
            ["bench", "--prompt-tokens", "32767", "--tokens", "2"],
            "context holds 32,768",
            id="more than the context",
        ),
        pytest.param(
            ["chat", "--prompt", "Hi", "--grammar", "none"], "none: No such file", id="no grammar"
        ),
        pytest.param(
            ["chat", "--prompt", "Hi", "--regex", "a", "--choices", "a,b"],
            "an answer can have one form only",
            id="two forms",
        ),
        pytest.param(["chat", "--prompt", "word " * 5000], "context_length is 4096", id="long"),
    ],
)
def test_a_failed_run_is_told_in_one_line(
    llm: Run, tmp_path: Path, words: list[str], problem: str
) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "short").write_text("Hi")
    done = llm(*words, "--executor", "reference")
    assert done.returncode == 1
    assert done.stdout == ""
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_name_of_two_lines_is_shown_on_one(llm: Run) -> None:
    for words in (["info", "no\nfile"], ["chat", "--model", "no\nfile", "--prompt", "Hi"]):
        done = llm(*words)
        assert done.returncode == 1
        assert "no\\nfile: file: does not exist" in done.stderr
        assert done.stderr.count("\n") == 1
    for words in (["info", "a file", "--no\nsuch"], ["no\nsuch"]):
        done = llm(*words)
        assert done.returncode == 2
        assert "no\\nsuch" in done.stderr
        assert done.stderr.count("\n") == 1


def test_a_wrong_engine_is_named(llm: Run) -> None:
    done = llm("chat", "--prompt", "Hi", GODOT="/no/such/godot")
    assert done.returncode == 1
    assert done.stderr == "llm: GODOT is '/no/such/godot', which is not a program\n"


def test_a_demo_without_a_screen(llm: Run) -> None:
    done = llm("demo", "shop", DISPLAY="", WAYLAND_DISPLAY="")
    assert done.returncode == 1
    assert done.stderr == "llm: demo shows a window, and there is no display\n"


def test_help_is_no_mistake(llm: Run) -> None:
    done = llm("--help")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "perplexity" in done.stdout
