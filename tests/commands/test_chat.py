"""`./llm chat`, from the command line to the answer."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from commands.conftest import LIMIT_S, ROOT, Run

GREEDY = json.loads((ROOT / "tests" / "golden" / "greedy.json").read_text(encoding="utf-8"))
RAW = ("--raw", "--temperature", "0")


def processes_of(group: int) -> list[str]:
    """Programs of a process group that still run."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            program = (folder / "cmdline").read_bytes().split(b"\0")[0].decode()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(program)
    return found


@pytest.mark.parametrize("executor", ["dispatch", "reference"])
def test_json(llm: Run, executor: str) -> None:
    count = 24 if executor == "dispatch" else 6
    words = ["--max-tokens", str(count), "--json", "--executor", executor]
    done = llm("chat", "--prompt", GREEDY["prompt"], *RAW, *words)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["token_ids"] == GREEDY["ids"][:count]
    assert GREEDY["text"].startswith(answer["text"])
    assert answer["executor"] == executor
    assert answer["finish_reason"] == "length"
    assert answer["device"]
    assert set(answer["timings"]) == {"load_s", "prompt_tps", "decode_tps"}


def test_text_alone_on_stdout(llm: Run) -> None:
    done = llm("chat", "--prompt", GREEDY["prompt"], *RAW, "--max-tokens", "4")
    assert done.returncode == 0, done.stderr
    assert done.stdout == " the lazy dog.\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--choices", "cat,dog"], r"cat|dog"),
        (["--regex", "[0-9]{3}"], r"[0-9]{3}"),
        (["--grammar", "animal.gbnf"], r"a (cat|dog)"),
        (["--json-schema", "animal.json"], r'\{"legs": ?\d\}'),
        (["--json-schema", '{"type": "object", "additionalProperties": false}'], r"\{\}"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_an_answer_of_a_form(llm: Run, tmp_path: Path, words: list[str], expected: str) -> None:
    (tmp_path / "animal.gbnf").write_text('root ::= "a " ("cat" | "dog")')
    schema = {
        "type": "object",
        "properties": {"legs": {"enum": [2, 4]}},
        "required": ["legs"],
        "additionalProperties": False,
    }
    (tmp_path / "animal.json").write_text(json.dumps(schema))
    done = llm("chat", "--prompt", "An animal:", *words)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(expected, done.stdout.strip()), done.stdout


def test_thinking(llm: Run) -> None:
    words = ("chat", "--prompt", "Hi", "--model", "echo:<think>Hm.</think>Yes.")
    assert llm(*words).stdout == "Yes.\n"
    answer = json.loads(llm(*words, "--json").stdout)
    assert (answer["text"], answer["reasoning"]) == ("Yes.", "Hm.")
    answer = json.loads(llm(*words, "--json", "--no-thinking").stdout)
    assert (answer["text"], answer["reasoning"]) == ("Yes.", "")


def test_terminal_conversation(llm: Run) -> None:
    done = llm("chat", "--max-tokens", "3", "--temperature", "0", stdin="Hello\n", DISPLAY="")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM], ids=lambda stop: stop.name)
def test_a_signal_ends_everything(tmp_path: Path, stop: signal.Signals) -> None:
    command = [str(ROOT / "llm"), "chat", "--prompt", "Once", "--raw", "--max-tokens", "4000"]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.read(1)  # the answer has begun
        screens = [pid for pid in Path("/proc").iterdir() if is_screen_of(pid, process.pid)]
        if stop is signal.SIGINT:
            os.killpg(process.pid, stop)  # as a terminal does
        else:
            process.send_signal(stop)
        process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130
    assert processes_of(process.pid) == []
    deadline = time.monotonic() + 5
    while any(screen.exists() for screen in screens):
        assert time.monotonic() < deadline, "the virtual screen is still there"
        time.sleep(0.05)


def is_screen_of(folder: Path, parent: int) -> bool:
    """True for the Xvfb that process `parent` started."""
    try:
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        return int(fields[1]) == parent and b"Xvfb" in (folder / "cmdline").read_bytes()
    except (OSError, IndexError):
        return False
