"""Names and sizes as messages show them."""

import pytest

from llm.files.wording import quoted, readable_size


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
