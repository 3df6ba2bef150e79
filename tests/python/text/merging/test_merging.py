"""Each kind of vocabulary gives llama.cpp's ids, as make_merging_fixtures.py stored them."""

from typing import Any

import pytest
from support.golden_vocabulary import fixture, tokenizer

from llm.text.merging.pre_tokenizers import PRE_TOKENIZERS
from llm.text.stream import TextStream

TEXTS = 300

# What each kind keeps of a text; the others fold letters and spaces.
LOSSLESS = ("ranks", "characters")


def cases() -> list[Any]:
    return [
        pytest.param(kind, number, id=" ".join([kind, *map(str, variant.values())]))
        for kind in ("ranks", "characters", "words", "likely")
        for number, variant in enumerate(fixture(kind)["variants"])
    ]


@pytest.mark.parametrize(("kind", "variant"), cases())
def test_ids_equal_llama_cpp(kind: str, variant: int) -> None:
    rows = fixture(kind)["rows"]
    assert len(rows) >= TEXTS
    made = tokenizer(kind, variant)
    wrong = []
    for row in rows:
        # llama.cpp ends a text as the file says, which encode() never does.
        ending = made.encode_whole("")[len(made.encode("")) :]
        ids = made.encode(row["text"], parse_special=row["parse_special"]) + ending
        if ids != (expected := row["ids"][row["of"][variant]]):
            wrong.append((row["text"], expected, ids))
    assert wrong == []


def test_every_pre_tokenizer_is_held_to_llama_cpp() -> None:
    assert [variant.get("pre", "") for variant in fixture("ranks")["variants"]] == [
        "",
        *PRE_TOKENIZERS,
    ]


@pytest.mark.parametrize("kind", LOSSLESS)
def test_decode_reverses_encode(kind: str) -> None:
    made = tokenizer(kind)
    for row in fixture(kind)["rows"]:
        if not row["parse_special"]:
            text = row["text"] if kind == "ranks" else row["text"].replace("▁", " ")
            assert made.decode(made.encode(row["text"])) == text


@pytest.mark.parametrize(
    ("kind", "text", "decoded"),
    [
        ("words", "I am  Élan!", "i am elan !"),
        ("likely", " ｆｕｌｌ \u00a0 wide ", "full wide"),  # noqa: RUF001
    ],
)
def test_what_is_folded_comes_back_folded(kind: str, text: str, decoded: str) -> None:
    made = tokenizer(kind)
    assert made.decode(made.encode(text)) == decoded


@pytest.mark.parametrize("kind", LOSSLESS)
def test_a_stream_shows_whole_characters(kind: str) -> None:
    made = tokenizer(kind)
    text = "Café 😀 👩🏽\u200d🚀 \u0915\u094d\u0937 𓂀 語語 end"
    ids = made.encode(text)
    assert len(ids) > len(text) / 2  # characters fall apart
    stream = TextStream(made)
    parts = [stream.push(token) for token in ids]
    assert "".join([*parts, stream.finish()]) == text
    assert "\ufffd" not in "".join(parts)


def test_text_that_goes_on_has_no_space_before_it() -> None:
    for kind in LOSSLESS:
        made = tokenizer(kind)
        assert made.encode_more("a") == made.encode("a", add_bos=False)
    likely = tokenizer("likely")
    assert likely.decode(likely.encode_more("ab")) == "ab"
    assert b"".join(map(likely.piece, likely.encode_more("ab"))) == b"ab"
    assert b"".join(map(likely.piece, likely.encode_more(" ab"))) == b" ab"
