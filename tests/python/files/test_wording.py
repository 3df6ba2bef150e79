"""Names and sizes as messages show them."""

import pytest

from llm.files.wording import printable, quoted, readable_size


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("blk.0.ffn_up.weight", "'blk.0.ffn_up.weight'", id="a plain name"),
        pytest.param("модель 🦊", "'модель 🦊'", id="letters of any script stay"),
        pytest.param("a\nb\x00\x1b", "'a\\nb\\x00\\x1b'", id="controls are spelled out"),
        pytest.param("x" * 60, "'" + "x" * 60 + "'", id="sixty letters fit"),
        pytest.param("x" * 61, "'" + "x" * 59 + "…'", id="sixty-one are cut"),
    ],
)
def test_quoted(text: str, expected: str) -> None:
    assert quoted(text) == expected


def test_printable_keeps_all_of_a_long_text() -> None:
    assert printable("x" * 500 + "\u2028") == "x" * 500 + "\\u2028"
    assert printable("\ud800.gguf") == "\\ud800.gguf"


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (253_113_024, "241.4 MiB"),
        (3 << 30, "3.0 GiB"),
        (5 << 40, "5.0 TiB"),
    ],
)
def test_readable_size(size: int, expected: str) -> None:
    assert readable_size(size) == expected
