"""Whatever the bytes and wherever tokens cut them, only whole characters come out."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm.text.stream import TextStream


class ByteTokens:
    """Stands in for a tokenizer: token `i` is the i-th given piece."""

    def __init__(self, pieces):
        self.piece = pieces.__getitem__


def pushed(pieces):
    """What each token gives, and last what `finish` gives."""
    stream = TextStream(ByteTokens(pieces))
    return [*(stream.push(token) for token in range(len(pieces))), stream.finish()]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        pytest.param([], [""], id="no tokens"),
        pytest.param([b"a", b" b"], ["a", " b", ""], id="plain text comes at once"),
        pytest.param([b"\xe2", b"\x82", b"\xac!"], ["", "", "€!", ""], id="a character in three"),
        pytest.param([b"\xf0\x9f\x98\x80"], ["😀", ""], id="a character in one"),
        pytest.param([b"a\xf0\x9f", b"\x98"], ["a", "", "\ufffd"], id="half a character at last"),
        pytest.param([b"\xf0\x9f", b"a"], ["", "\ufffda", ""], id="half a character, then another"),
        pytest.param([b"\xff", b"\x80"], ["\ufffd", "\ufffd", ""], id="bytes that begin nothing"),
        pytest.param([b"\xed\xa0", b"\x80"], ["", "\ufffd" * 3, ""], id="half a surrogate"),
        pytest.param([b"", b"a", b""], ["", "a", "", ""], id="control tokens"),
    ],
)
def test_push(pieces, expected):
    assert pushed(pieces) == expected


# Bytes as text has them, and bytes that it has not.
DATA = st.one_of(
    st.binary(max_size=40),
    st.text(max_size=20).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.lists(st.sampled_from([0xF0, 0x9F, 0x98, 0x80, 0xE2, 0xC3, 0x41, 0xFF])).map(bytes),
)


@settings(deadline=None, derandomize=True, database=None, max_examples=500)
@given(DATA, st.lists(st.integers(0, 40), max_size=12))
def test_any_split_gives_the_same_text(data, cuts):
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[start:end] for start, end in pairwise(edges)]
    assert "".join(pushed(pieces)) == data.decode("utf-8", "replace")


@settings(deadline=None, derandomize=True, database=None, max_examples=500)
@given(DATA)
def test_at_most_three_bytes_are_held_back(data):
    stream = TextStream(ByteTokens([bytes([byte]) for byte in data]))
    shown = ""
    for count in range(1, len(data) + 1):
        shown += stream.push(count - 1)
        held = next(
            held for held in range(5) if data[: count - held].decode("utf-8", "replace") == shown
        )
        assert held <= 3


def test_the_default_model_streams_what_it_decodes(gemma):
    text = "Café 😀 👩🏽\u200d🚀 \u0915\u094d\u0937 𓂀 \x00 end"
    ids = gemma.encode(text)
    stream = TextStream(gemma)
    parts = [stream.push(token) for token in ids]
    assert "".join([*parts, stream.finish()]) == text
    assert "\ufffd" not in "".join(parts)
