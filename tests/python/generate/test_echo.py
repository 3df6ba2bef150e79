"""The echo answers with the question, on the path of every other model."""

from pathlib import Path

import pytest
from support.manual_worker import ManualWorker

from llm.errors import RequestError
from llm.generate.client import Client, new_request_id
from llm.generate.echo import load_echo
from llm.generate.events import Ended, Loaded, Truncated, Updated
from llm.generate.request import AnswerOptions, Asked, LoadSpec, SamplingParams
from llm.generate.saved_state import open_state
from llm.text.answer_format import AnswerFormat

WILD = SamplingParams(
    temperature=100.0,
    top_k=0,
    top_p=1.0,
    min_p=0.0,
    repeat_penalty=2.0,
    presence_penalty=2.0,
    frequency_penalty=2.0,
)
TEXTS = [
    "Hi",
    "Grüß dich, 🦊!",
    "<end>, <answer> or <question>?",
    "two  spaces,\n\n\tlines\r\n and <0x41>",
    "aaaaaaaa",
    "x" * 1000,
]
RAW_TEXTS = [" begins with a space", *(text for text in TEXTS if "<answer>" not in text)]


class Talk:
    """A client whose worker is run by hand."""

    def __init__(self, path: str = "echo:", context: int = 4096) -> None:
        self.worker = ManualWorker(load_echo)
        self.client = Client(lambda: self.worker)
        self.spec = LoadSpec(path, "auto", context)
        self.truncated = 0

    def say(
        self,
        question: str | None,
        prompt: str = "",
        options: AnswerOptions = AnswerOptions(),  # noqa: B008  (it is frozen)
        role: str = "user",
    ) -> Ended:
        self.client.ask(Asked(new_request_id(), question, prompt, self.spec, options, role))
        return self.finish()

    def finish(self) -> Ended:
        self.worker.run()
        events = list(self.client.poll())
        self.truncated += sum(isinstance(event, Truncated) for event in events)
        [ended] = [event for event in events if isinstance(event, Ended)]
        return ended


@pytest.mark.parametrize("sampling", [SamplingParams(), WILD], ids=["usual", "wild"])
@pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text[:12]))
def test_the_answer_is_the_question(text: str, sampling: SamplingParams) -> None:
    talk = Talk()
    for _ in range(2):
        ended = talk.say(text, "Be brief.", AnswerOptions(sampling))
        assert (ended.text, ended.reason) == (text, "stop")


def test_whoever_asks() -> None:
    assert Talk().say("It is raining.", "Be brief.", role="system").text == "It is raining."


@pytest.mark.parametrize(
    "text", [*TEXTS[:2], " begins with a space", *TEXTS[3:]], ids=lambda text: ascii(text[:12])
)
def test_raw_text_is_said_once_more(text: str) -> None:
    talk = Talk()
    for longer in ("", "", text, "x"):  # from nothing, from what is known, from a part of it
        ended = talk.say(None, text + longer)
        assert (ended.text, ended.reason) == (text + longer, "stop")


def test_what_it_always_says() -> None:
    talk = Talk("echo:Hello there, at 12:30")
    assert talk.say("Hi").text == "Hello there, at 12:30"
    assert talk.say("And?").text == "Hello there, at 12:30"
    assert talk.say(None, "raw").text == "Hello there, at 12:30"
    talk.spec = LoadSpec("echo:Bye / now", "auto", 4096)
    assert talk.say("And?").text == "Bye / now"
    assert [message["role"] for message in talk.client.conversation.messages()] == [
        "user",
        "assistant",
    ] * 3


@pytest.mark.parametrize("answer_format", [None, AnswerFormat.choices(("Pass.", "Halt!"))])
@pytest.mark.parametrize("allowed", [True, False])
def test_what_it_thinks_before(allowed: bool, answer_format: AnswerFormat | None) -> None:
    talk = Talk("echo:<think>A friend, <b>ä</b>?</think>Pass.")
    options = AnswerOptions(allow_thinking=allowed, format=answer_format)
    for question in ("Hi", "Let me <think>."):
        ended = talk.say(question, options=options)
        assert (ended.text, ended.reason) == ("Pass.", "stop")
        assert talk.client.reasoning == ("A friend, <b>ä</b>?" if allowed else "")


def test_it_loads_in_two_steps_and_says_what_it_is() -> None:
    talk = Talk("echo:Hello / there")
    talk.client.load(talk.spec)
    talk.worker.run()
    [info] = [event.info for event in talk.client.poll() if isinstance(event, Loaded)]
    assert (info.name, info.architecture, info.executor) == ("echo", "echo", "echo")
    assert (info.chat_format, info.context_length) == ("template", 4096)
    assert len(info.tokenizer.encode("Grüß", add_bos=False)) == 6


def test_a_token_is_a_byte() -> None:
    talk = Talk()
    talk.client.ask(Asked(new_request_id(), "Grüß", "", talk.spec, AnswerOptions()))
    talk.worker.run()
    pieces = [event.text for event in talk.client.poll() if isinstance(event, Updated)]
    assert pieces == ["G", "r", "", "ü", "", "ß"]
    assert talk.client.stats.generated_tokens == 6


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (AnswerOptions(max_tokens=5), ("Hello", "length")),
        (AnswerOptions(stop_words=("the",)), ("Hello ", "stop_word")),
    ],
)
def test_what_ends_an_answer_early(options: AnswerOptions, expected: tuple[str, str]) -> None:
    ended = Talk().say("Hello there", options=options)
    assert (ended.text, ended.reason) == expected


def test_a_context_that_is_full() -> None:
    talk = Talk(context=64)
    for turn in range(8):
        assert talk.say(f"question {turn}").text == f"question {turn}"
    assert talk.truncated > 0
    assert len(talk.client.conversation.messages()) < 16
    assert talk.say("x" * 80).reason == "error"
    assert talk.say("x" * 40).reason == "length"


def test_a_context_that_is_too_short() -> None:
    with pytest.raises(RequestError, match="context_length is 15"):
        list(load_echo("echo:", executor="auto", context_length=15))


def test_a_conversation_goes_on_from_what_was_computed() -> None:
    talk = Talk()
    first = talk.say("Hello")
    assert talk.say("And?").stats.cached_tokens >= first.stats.prompt_tokens + 5
    talk.client.reset()
    assert talk.say("Hello").stats.cached_tokens == 0


def test_asking_again_and_cancelling() -> None:
    talk = Talk()
    talk.say("Hello")
    talk.client.ask_again(new_request_id(), "", talk.spec, AnswerOptions())
    assert talk.finish().text == "Hello"
    talk.client.ask(Asked(new_request_id(), "Goodbye", "", talk.spec, AnswerOptions()))
    talk.worker.step(5)
    list(talk.client.poll())
    talk.client.cancel()
    ended = talk.finish()
    assert ended.reason == "cancelled"
    assert ended.text
    assert "Goodbye".startswith(ended.text)


def test_several_answer_side_by_side() -> None:
    """Of one model; each its own."""
    talks = [Talk(context=512) for _ in range(5)]
    for number, talk in enumerate(talks):
        talk.worker = talks[0].worker
        asked = Asked(new_request_id(), f"I am {number}. " * 9, "", talk.spec, AnswerOptions())
        talk.client.ask(asked)
    for number, talk in enumerate(talks):
        assert talk.finish().text == f"I am {number}. " * 9


def test_its_conversations_are_saved_like_others(tmp_path: Path) -> None:
    talk = Talk()
    talk.say("x" * 150)
    path = f"{tmp_path}/a.state"
    talk.client.save_state(path, "", with_cache=True)
    talk.worker.run()
    with open_state(path) as (state, pages):
        assert state.cache is not None
        assert len(list(pages)) == 5
    later = Talk()
    later.client.load_state(path, later.spec)
    ended = later.say("And?")
    assert (ended.text, ended.stats.cached_tokens > 300) == ("And?", True)
