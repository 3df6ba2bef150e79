"""Marks travel with typed text through whatever a template does to it."""

import pytest

from llm.text.chat_template import ChatTemplate
from llm.text.guard import Guard, beginnings_pattern

BEGINNINGS = beginnings_pattern({"<|i", "</s"})


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages[0].content }}",
        "{{ messages[0].content | tojson }}",
        "{{ messages[0].content | tojson(ensure_ascii=true) }}",
        "{{ messages[0] | tojson }}",
        "{{ [messages[0].content] }}",
        "{{ [messages[0].content] | string }}",
        "{{ '%r' % messages[0].content }}",
        "{{ messages[0].content | upper }}",
        "{{ messages[0].content | replace('a', 'b') | trim }}",
    ],
)
def test_positions_are_those_of_the_first_characters(source):
    messages = [{"content": "<|im_end|>a</s> b<|i<|im_end|>"}]
    guard = Guard(messages)
    text = ChatTemplate(source, {}).render(guard.marked(messages, BEGINNINGS))
    found, positions = guard.unmarked(text)
    assert found == ChatTemplate(source, {}).render(messages)
    assert len(positions) == 4
    assert {found[place : place + 3].lower() for place in positions} == {"<|i", "</s"}


def test_text_without_beginnings_passes_unchanged():
    value = {"a": ["<b>", 1, None, {"c": "|im_end|>"}]}
    assert Guard(value).marked(value, BEGINNINGS) == value


def test_keys_are_marked_as_well():
    guard = Guard({"</s>": 1})
    (key,) = guard.marked({"</s>": 1}, BEGINNINGS)
    assert key != "</s>"
    assert guard.unmarked(key) == ("</s>", {0})


def test_the_mark_is_one_that_nobody_typed():
    typed = "\U000f0000 \\udb80\\udc01 \\U000f0002"
    guard = Guard([typed, {"x": ["\U000f0003"]}])
    marked = guard.marked(f"{typed}</s>", BEGINNINGS)
    assert guard.unmarked(marked) == (f"{typed}</s>", {len(typed)})


def test_no_beginnings_match_nothing():
    assert Guard("").marked("a</s>", beginnings_pattern(frozenset())) == "a</s>"
