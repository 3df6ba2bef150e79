"""The options of the commands, on both sides of the engine's start."""

import os
from pathlib import Path

import pytest

from llm.commands.arguments import COMMANDS, DEMOS, QUANTIZED, forward, pack, parse
from llm.files.quantized import TARGETS


@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param("chat", [], id="nothing given"),
        pytest.param(
            "chat",
            ["--prompt", "Hi", "--raw", "--max-tokens", "24", "--temperature", "0", "--json"],
            id="the usual",
        ),
        pytest.param("chat", ["--prompt=--raw"], id="a prompt that looks like an option"),
        pytest.param("chat", ["--prompt=\n", "--raw"], id="a line end alone is a raw prompt"),
        pytest.param("chat", ["--prompt", "two\nlines, ünïcode"], id="lines and accents"),
        pytest.param("chat", ["--top-p", "1", "--min-p", "0", "--top-k", "0"], id="filters off"),
        pytest.param("chat", ["--seed", str(2**63 - 1)], id="the largest seed"),
        pytest.param("chat", ["--no-thinking", "--model", "echo:Hi, you/there"], id="the echo"),
        pytest.param(
            "chat", ["--prompt", "Hi", "--choices", "yes,no way", "--regex", "a,b"], id="formats"
        ),
        pytest.param(
            "chat", ["--prompt", "Hi", "--json-schema", ' {"type": "object"}'], id="a schema"
        ),
        pytest.param("chat", ["--prompt", "Hi", "--json-schema", "a.json"], id="one in a file"),
        pytest.param("bench", ["--tokens", "8", "--executor", "reference"], id="bench"),
        pytest.param("bench", ["--positions", "128,8192"], id="several positions"),
        pytest.param("perplexity", ["--file", "a b.txt", "--save-logits", "x.npy"], id="files"),
        pytest.param("info", ["model.gguf", "--json", "--context", "99"], id="a positional"),
        pytest.param("chat", ["--lora", "/a b.gguf:0.5,/c:d.gguf,/e.gguf:-2"], id="adapters"),
        pytest.param("models", ["--json"], id="models"),
        pytest.param("bench", ["--quantize", "q4_k"], id="quantised"),
    ],
)
def test_forwarded_options_read_back_the_same(name: str, words: list[str]) -> None:
    options = parse(name, words)
    assert parse(name, forward(name, options)) == options


@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param(" blanks around ", id="blanks around"),
        pytest.param("ends with a line\n", id="a line at the end"),
        pytest.param("100%20 and %2520", id="what looks escaped"),
        pytest.param("日本語 \U0001f600", id="other scripts"),
    ],
)
def test_packed_options_survive_the_engine(prompt: str) -> None:
    packed = pack([f"--prompt={prompt}"])
    in_engine = [word.strip().replace("%20", " ") for word in packed]
    assert parse("chat", in_engine).prompt == prompt


def test_forward_leaves_out_what_was_not_given() -> None:
    assert forward("chat", parse("chat", ["--temperature", "0"])) == [
        "--temperature=0.0",
        "--executor=auto",
    ]


def test_paths_are_those_of_the_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse("bench", ["--model", "m.gguf"]).model == str(tmp_path / "m.gguf")
    home = os.path.expanduser("~")
    assert parse("info", ["~/m.gguf"]).file == os.path.join(home, "m.gguf")


@pytest.mark.parametrize(
    ("name", "words", "problem"),
    [
        pytest.param("chat", ["--top-p", "0"], "more than 0, 1 at most", id="top-p of nothing"),
        pytest.param("chat", ["--top-p", "1.5"], "more than 0, 1 at most", id="top-p over 1"),
        pytest.param("chat", ["--min-p", "-0.1"], "out of range", id="min-p below 0"),
        pytest.param("chat", ["--temperature", "warm"], "'warm' is not a number", id="no number"),
        pytest.param("chat", ["--temperature", "nan"], "out of range", id="not a number at all"),
        pytest.param("chat", ["--max-tokens", "0"], "1 or more", id="no tokens"),
        pytest.param("chat", ["--max-tokens", "2.5"], "not a whole number", id="half a token"),
        pytest.param("chat", ["--executor", "cpu"], "invalid choice", id="unknown executor"),
        pytest.param("chat", ["--raw"], "--raw needs --prompt", id="raw without a prompt"),
        pytest.param("chat", ["--json"], "--json needs --prompt", id="json without a prompt"),
        pytest.param("chat", ["--regex", "a"], "--regex needs --prompt", id="a format without one"),
        pytest.param("chat", ["--choices", "a,,b"], "has an empty text", id="an empty choice"),
        pytest.param("chat", ["--prompt", ""], "--prompt: it is empty", id="an empty prompt"),
        pytest.param("chat", ["--prompt", " \n"], "--prompt: it is empty", id="a blank one"),
        pytest.param("chat", ["--prompt", "", "--raw"], "it is empty", id="an empty raw one"),
        pytest.param("chat", ["--temp", "1"], "unrecognized", id="no abbreviations"),
        pytest.param("chat", ["hello"], "unrecognized", id="a stray word"),
        pytest.param("chat", ["--model", ""], "a file name is needed", id="empty file name"),
        pytest.param("bench", ["--positions", "128,"], "'' is not a whole", id="no position"),
        pytest.param("bench", ["--positions", "1,0"], "1 or more", id="a position before any"),
        pytest.param("demo", [], "scene", id="no scene"),
        pytest.param("demo", ["castle"], "invalid choice", id="an unknown one"),
        pytest.param("perplexity", [], "--file", id="a file is required"),
        pytest.param("info", [], "FILE", id="here too"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(
    name: str, words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ending:
        parse(name, words)
    said = capsys.readouterr()
    assert ending.value.code == 2
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert said.err.startswith(f"llm {name}: ")
    assert problem in said.err


@pytest.mark.parametrize("scene", DEMOS)
def test_every_demo_has_a_scene(scene: str) -> None:
    assert parse("demo", [scene]).scene == scene
    root = Path(__file__).parents[3]
    assert (root / "scenes" / scene / f"{scene}.tscn").is_file()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ending:
        parse(name, ["--help"])
    said = capsys.readouterr().out
    assert ending.value.code == 0
    assert all(
        option.help.split(":")[0][:30] in " ".join(said.split())
        for option in COMMANDS[name].options
    )


def test_what_weights_may_become_is_said_twice() -> None:
    """This table imports too little to ask where it is done."""
    assert QUANTIZED == TARGETS


def test_an_adapter_counts_as_trained_where_nothing_is_said() -> None:
    options = parse("chat", ["--lora=/a.gguf:0.25,/b.gguf,/c:d.gguf"])
    assert options.lora == (("/a.gguf", 0.25), ("/b.gguf", 1.0), ("/c:d.gguf", 1.0))
