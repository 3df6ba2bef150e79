import os
from collections.abc import Iterator

import pytest

from llm.commands.output import Output, reports_errors
from llm.errors import RequestError


@pytest.fixture
def pipes(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """The reading ends of what a command writes to, by name."""
    readers = {}
    descriptors = []
    for name in ("LLM_STDOUT_FD", "LLM_STDERR_FD"):
        readers[name], writer = os.pipe()
        descriptors += [readers[name], writer]
        monkeypatch.setenv(name, str(writer))
    yield readers
    for descriptor in descriptors:
        try:
            os.close(descriptor)
        except OSError:
            assert descriptor in readers.values(), "only a test closes, and only a reading end"


def test_text_goes_where_the_launcher_wants_it(pipes: dict[str, int]) -> None:
    output = Output()
    output.write("Grüße 🦊")
    output.note("working…")
    output.error("it broke:\nbad\x1b[1mly")
    assert os.read(pipes["LLM_STDOUT_FD"], 100).decode() == "Grüße 🦊"
    said = os.read(pipes["LLM_STDERR_FD"], 100).decode()
    assert said == "working…llm: it broke:\\nbad\\x1b[1mly\n"


def test_thoughts_are_dimmed_for_a_person(
    pipes: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    Output().thought("a pipe reads no thoughts")
    screen, terminal = os.openpty()
    monkeypatch.setenv("LLM_STDERR_FD", str(terminal))
    output = Output()
    for thought in ("Hm, ", "well."):
        output.thought(thought)
    output.write("Yes.")
    assert os.read(screen, 100).decode() == "\x1b[2mHm, well.\x1b[0m\r\n\r\n"
    assert os.read(pipes["LLM_STDOUT_FD"], 100).decode() == "Yes."
    output.thought("Or ")
    output.error("it broke")
    assert os.read(screen, 100).decode() == "\x1b[2mOr \x1b[0m\r\n\r\nllm: it broke\r\n"
    for descriptor in (screen, terminal):
        os.close(descriptor)


def test_without_a_launcher_it_is_the_usual_two(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("LLM_STDOUT_FD", raising=False)
    monkeypatch.delenv("LLM_STDERR_FD", raising=False)
    Output().write("out")
    Output().note("err")
    assert capfd.readouterr() == ("out", "err")


def test_a_closed_pipe_is_told_to_whoever_asked(pipes: dict[str, int]) -> None:
    closed = []
    output = Output(on_closed=lambda: closed.append(True))
    os.close(pipes["LLM_STDOUT_FD"])
    output.write("nobody reads this")
    assert closed == [True]
    with pytest.raises(BrokenPipeError):
        Output().write("nor this")


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (RequestError("the prompt is empty"), b"llm: the prompt is empty\n"),
        (BrokenPipeError(), b""),
    ],
)
def test_what_main_raises(pipes: dict[str, int], problem: Exception, said: bytes) -> None:
    @reports_errors
    def main(node: object, args: list[str]) -> int:
        raise problem

    assert main(None, []) == 1
    os.set_blocking(pipes["LLM_STDERR_FD"], False)
    try:
        found = os.read(pipes["LLM_STDERR_FD"], 100)
    except BlockingIOError:
        found = b""
    assert found == said


def test_our_own_faults_are_not_hidden(pipes: dict[str, int]) -> None:
    @reports_errors
    def main(node: object, args: list[str]) -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        main(None, [])
