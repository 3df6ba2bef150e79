"""Reasoning is told apart from the answer, and a format begins after it."""

import pytest
from support.answering import chat, run_events, seat_at
from support.fake_model import END, FakeModel, says

from llm.generate.events import Ended, Updated
from llm.text.answer_format import REGEX, AnswerFormat


def both(model: FakeModel, **options: object) -> tuple[str, str, Ended]:
    """The pieces of the answer and of the reasoning, each joined, and the end."""
    events = run_events(seat_at(model), chat("Hi", **options))
    updates = [event for event in events if isinstance(event, Updated)]
    ended = events[-1]
    assert isinstance(ended, Ended)
    text = "".join(update.text for update in updates)
    reasoning = "".join(update.reasoning for update in updates)
    assert (text, reasoning) == (ended.text, ended.reasoning)
    return text, reasoning, ended


def test_a_block_of_reasoning() -> None:
    text, reasoning, ended = both(FakeModel(says("<think>Is it so?</think>\n\nYes.")))
    assert (text, reasoning, ended.reason) == ("Yes.", "Is it so?", "stop")


def test_a_prompt_that_opens_it() -> None:
    model = FakeModel(says("Is it so?</think>Yes."))
    model.chat_format.opens_thinking = True
    assert both(model)[:2] == ("Yes.", "Is it so?")


def test_a_stop_word_counts_in_the_answer_alone() -> None:
    model = FakeModel(says("<think>one. two</think>three. four"))
    text, reasoning, ended = both(model, stop_words=(".",))
    assert (text, reasoning, ended.reason) == ("three", "one. two", "stop_word")


def test_an_end_within_the_reasoning() -> None:
    text, reasoning, ended = both(FakeModel(says("<think>Is it")), max_tokens=50)
    assert (text, reasoning, ended.reason) == ("", "Is it", "stop")


@pytest.mark.parametrize("opens", [False, True])
def test_a_format_begins_after_it(opens: bool) -> None:
    """The model would say "ok" and go on; what it thinks first is its own affair."""
    thought = "" if opens else "<"
    script = [*f"{thought}a thought</think>".encode(), *b"zzzz", END]
    model = FakeModel(script)
    model.chat_format.opens_thinking = opens
    # as one token, which the fake vocabulary has for single bytes only
    model.chat_format.thinking_openers = frozenset({ord("<")})
    model.chat_format.reply_style = model.chat_format.short_style
    text, reasoning, ended = both(model, format=AnswerFormat(REGEX, "ok|no"))
    assert text in ("ok", "no")
    assert reasoning == "a thought"
    assert ended.reason == "stop"


def test_a_format_may_begin_at_once() -> None:
    model = FakeModel()
    model.chat_format.thinking_openers = frozenset({ord("<")})
    text, reasoning, _ = both(model, format=AnswerFormat(REGEX, "ok|no"))
    assert (text in ("ok", "no"), reasoning) == (True, "")


def test_where_it_is_not_allowed_none_may_begin() -> None:
    model = FakeModel([ord("<"), *b"zz"])
    model.chat_format.thinking_openers = frozenset({ord("<")})
    text, _, _ = both(model, format=AnswerFormat(REGEX, "ok|no"), allow_thinking=False)
    assert text in ("ok", "no")
