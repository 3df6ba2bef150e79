"""Token ids equal llama.cpp's, stored by tests/golden/make_tokenizer_fixtures.py."""

import hashlib
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

SCRIPTS = 12
STRINGS = 200


def differences(tokenizer, rows):
    """Rows whose ids are not those stored, with control tokens parsed and without."""
    return [
        (row["text"], parse_special, expected, ids)
        for row in rows
        for parse_special, expected in (
            (False, row["plain"]),
            (True, row.get("parsed", row["plain"])),
        )
        if (ids := tokenizer.encode(row["text"], parse_special=parse_special)) != expected
    ]


def test_ids_of_the_default_model_equal_llama_cpp(gemma, golden):
    rows = golden("gemma3")["rows"]
    assert len(rows) >= STRINGS
    assert len({row["kind"] for row in rows}) >= SCRIPTS
    assert differences(gemma, rows) == []


@pytest.mark.parametrize("name", ["space_prefix", "no_space_prefix", "phi_3"])
def test_ids_of_small_vocabularies_equal_llama_cpp(small, golden, name):
    fixture = golden(name)
    assert len(fixture["rows"]) > 100
    assert differences(small(**fixture["file"]), fixture["rows"]) == []


def test_long_texts_equal_llama_cpp(gemma, golden):
    # A word of 100,000 letters among them: one that merges in quadratic time would take minutes.
    for row in golden("gemma3")["repeated"]:
        ids = gemma.encode(row["text"] * row["times"], parse_special=True)
        assert len(ids) == row["count"], row["text"]
        assert hashlib.sha256(",".join(map(str, ids)).encode()).hexdigest() == row["sha256"]


def test_bos_follows_the_file_unless_told(gemma, small):
    with_bos, without = small(seed=3, add_bos_token=True), small(seed=3, add_bos_token=False)
    assert with_bos.encode("a") == [1, *without.encode("a")]
    assert with_bos.encode("a", add_bos=False) == without.encode("a")
    assert without.encode("a", add_bos=True) == with_bos.encode("a")
    assert gemma.encode("") == [gemma.bos_id]
    assert gemma.encode("", add_bos=False) == []


def test_a_whole_text_ends_as_the_file_says(gemma, small):
    with_eos = small(seed=3, add_bos_token=True, add_eos_token=True)
    assert with_eos.encode_whole("a") == [*with_eos.encode("a"), with_eos.eos_id]
    assert with_eos.encode("a")[-1] != with_eos.eos_id
    assert gemma.encode_whole("a <eos>") == gemma.encode("a <eos>")


def test_markers_are_text_unless_asked_for(gemma):
    end = gemma.encode("<end_of_turn>", parse_special=True, add_bos=False)
    typed = gemma.encode("<end_of_turn>", add_bos=False)
    assert end == [106]
    assert not any(gemma.is_control(token) for token in typed)
    assert gemma.decode(typed) == "<end_of_turn>"


@settings(deadline=None, derandomize=True, database=None, max_examples=300)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
@example("Führer Fu\u0308hrer 한글 \u1112\u1161\u11ab")
@example("  a  \n\n b\t\x00\x7f😀\u200d")
@example("<bos></s><s>[multimodal]")
def test_decode_reverses_encode(gemma, text):
    # The vocabulary itself writes spaces as U+2581, so those two cannot be told apart.
    assert gemma.decode(gemma.encode(text)) == text.replace("▁", " ")


@pytest.mark.parametrize("text", ["", "a", " a", "ab  ca ", "é 😀"])
def test_decode_drops_only_the_space_that_encode_adds(small, text):
    assert (
        small(seed=3, add_space_prefix=True).decode(
            small(seed=3, add_space_prefix=True).encode(text)
        )
        == text
    )


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        pytest.param("a\ud800b", "a\ufffdb", id="lone high half"),
        pytest.param("a\udc00", "a\ufffd", id="lone low half"),
        pytest.param("\ud83d\ude00", "😀", id="a pair is one character"),
        pytest.param("\ude00\ud83d", "\ufffd\ufffd", id="a pair the wrong way round"),
    ],
)
def test_surrogates_are_joined_or_replaced(gemma, text, same_as):
    assert gemma.encode(text) == gemma.encode(same_as)


def test_pieces_are_bytes(gemma):
    assert gemma.piece(gemma.encode(" the", add_bos=False)[0]) == b" the"
    assert gemma.piece(238 + 0xE2) == b"\xe2"
    assert gemma.piece(107) == b"\n"
    assert [gemma.piece(token) for token in (0, 1, 2, 3, 105, 106)] == [b""] * 6
    assert gemma.token_text(2) == "<bos>"


def test_end_ids(gemma, small):
    # "</s>" is user-defined in Gemma: HTML's end of struck-through text, not the end of an answer.
    assert gemma.end_ids == {1, 106}
    assert gemma.piece(212) == b"</s>"
    # The small files name "</s>" as eos; "<|end|>" and "<|endoftext|>" are known by their text.
    tokenizer = small(seed=3)
    assert {tokenizer.token_text(token) for token in tokenizer.end_ids} == {
        "</s>",
        "<|end|>",
        "<|endoftext|>",
    }
    assert all(tokenizer.piece(token) == b"" for token in tokenizer.end_ids)


def test_many_threads_get_the_same_ids(gemma, golden):
    rows = golden("gemma3")["rows"]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: differences(gemma, rows), range(8)))
    assert results == [[]] * 8
