"""Formats on a small vocabulary: what may come, and what ends an answer."""

import json

import numpy as np
import pytest
from support.fake_model import END, FakeTokenizer
from support.golden_vocabulary import tokenizer

from llm.errors import RequestError
from llm.text.answer_format import GBNF, REGEX, AnswerFormat
from llm.text.grammar import GrammarCompiler, Matcher

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
COMPILER = GrammarCompiler(FakeTokenizer())  # type: ignore[arg-type]


def allowed(matcher: Matcher) -> set[int]:
    bits = np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")
    return set(np.flatnonzero(bits).tolist())


def follow(format: AnswerFormat, text: str) -> Matcher:
    """A matcher after the text, each token of which was in its mask."""
    matcher = COMPILER.matcher(format)
    for token in text.encode():
        assert token in allowed(matcher), f"{chr(token)!r} in {text!r}"
        matcher.accept(token)
    return matcher


@pytest.mark.parametrize(
    ("format", "whole"),
    [
        (AnswerFormat.json_schema(PERSON), '{"name": "Ann \\"B\\" é", "age": -12}'),
        (AnswerFormat.json_schema(json.dumps(PERSON)), '{"name": "", "age": 0}'),
        (AnswerFormat(GBNF, 'root ::= "x" item+ "."\nitem ::= "a" | "bc"'), "xabca."),
        (AnswerFormat(REGEX, "[0-9]{2}-(up|down)"), "12-down"),
        (AnswerFormat.choices(("yes", "no", "never")), "never"),
        (AnswerFormat.choices(('say "no"\n', "a\\b")), 'say "no"\n'),
        (AnswerFormat.choices(("\ud83d\udc09", "half \udc09")), "🐉"),
        (AnswerFormat(REGEX, "\ud83d\udc09|\udc09."), "🐉"),
        (AnswerFormat(GBNF, 'root ::= "\ud83d\udc09" | "\udc09"'), "🐉"),
        (AnswerFormat.json_schema({"enum": ["\ud83d\udc09", "\udc09"]}), '"🐉"'),
        (AnswerFormat.json_schema({"const": '\b\t\n\f\r"\\/é'}), '"\\b\\t\\n\\f\\r\\"\\\\/é"'),
    ],
)
def test_a_whole_answer(format: AnswerFormat, whole: str) -> None:
    matcher = COMPILER.matcher(format)
    for token in whole.encode():
        assert not matcher.is_complete
        assert token in allowed(matcher)
        matcher.accept(token)
    assert matcher.is_complete


@pytest.mark.parametrize(
    ("format", "text", "wrong"),
    [
        (AnswerFormat.json_schema(PERSON), '{"name": "A", ', "}"),
        (AnswerFormat.json_schema(PERSON), "", " "),
        (AnswerFormat.json_schema(PERSON), '{"name": "A", "age": 1', "."),
        (AnswerFormat.json_schema({"type": "string"}), '"\\', "u"),
        (AnswerFormat.json_schema({"type": "object", "required": ["a"]}), '{"a": 1, "a', '"'),
        (AnswerFormat(REGEX, "[0-9]{2}"), "1", "a"),
        (AnswerFormat.choices(("yes", "no")), "n", "e"),
    ],
)
def test_what_may_not_come(format: AnswerFormat, text: str, wrong: str) -> None:
    matcher = follow(format, text)
    assert ord(wrong) not in allowed(matcher)
    assert END not in allowed(matcher), "it is not whole"
    with pytest.raises(RequestError, match=format.kind):
        matcher.accept(ord(wrong))


@pytest.mark.parametrize(
    ("type", "text", "wrong"),
    [("integer", "900719925474099", "2"), ("number", "1", "e"), ("number", "-0.123456", "1")],
)
def test_numbers_end(type: str, text: str, wrong: str) -> None:
    found = allowed(follow(AnswerFormat.json_schema({"type": type}), text))
    assert END in found
    assert ord(wrong) not in found


def test_the_end_may_come_where_it_is_whole() -> None:
    matcher = follow(AnswerFormat(REGEX, "a+"), "aa")
    assert {END, ord("a")} == allowed(matcher)
    assert not matcher.is_complete
    matcher.accept(END)
    assert matcher.is_complete


def test_names_leave_no_choice() -> None:
    matcher = follow(AnswerFormat.json_schema(PERSON), "{")
    assert bytes(matcher.forced()) == b'"name": "'
    assert matcher.forced() == matcher.forced(), "asking changes nothing"
    matcher = follow(AnswerFormat(REGEX, "a"), "a")
    assert matcher.forced() == []


def test_each_answer_begins_anew() -> None:
    format = AnswerFormat.choices(("ab", "b"))
    first = follow(format, "a")
    assert allowed(COMPILER.matcher(format)) == {ord("a"), ord("b")}
    assert allowed(first) == {ord("b")}


@pytest.mark.parametrize(
    ("format", "words"),
    [
        (AnswerFormat(REGEX, "[0-9"), "regex: .*unclosed"),
        (AnswerFormat(GBNF, 'root ::= "a" other'), "grammar: Rule 'other' not found"),
        (AnswerFormat(GBNF, "root = 1"), "grammar: Expected ::="),
        (AnswerFormat.json_schema({"type": "objekt"}), "json_schema: .*objekt"),
        (AnswerFormat.json_schema({"oneOf": [{"minimum": 1}, {"maximum": 3}]}), "oneOf"),
        (AnswerFormat.json_schema({"format": "sonnet"}), "Unknown format: sonnet"),
        (AnswerFormat.json_schema('{"items":' * 150 + "{}" + "}" * 150), "recursion limit"),
    ],
)
def test_a_wrong_format_is_named(format: AnswerFormat, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        COMPILER.matcher(format)


@pytest.mark.parametrize("kind", ["ranks", "characters"])
@pytest.mark.parametrize(
    "whole", ['{"name": "Zoë 😀 語", "age": 12345}', '{"name": "", "age": -7}']
)
def test_tokens_of_more_or_less_than_a_character(kind: str, whole: str) -> None:
    made = tokenizer(kind)
    matcher = GrammarCompiler(made).matcher(AnswerFormat.json_schema(PERSON))
    ids = made.encode(whole, add_bos=False)
    assert len(ids) != len(whole)
    for token in ids:
        assert not allowed(matcher) & made.end_ids
        assert matcher.allows(token), made.token_text(token)
        matcher.accept(token)
    assert allowed(matcher) >= made.end_ids or matcher.is_complete


def test_names_are_forced_in_the_tokens_of_the_vocabulary() -> None:
    made = tokenizer("ranks")
    matcher = GrammarCompiler(made).matcher(AnswerFormat.json_schema(PERSON))
    # The library leaves out a token that may come out otherwise with what follows.
    assert made.decode(matcher.forced()) in ('{"name', '{"name": "')
