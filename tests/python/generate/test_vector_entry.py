"""What belongs to a text is kept as a file would keep it, or is refused."""

import pytest

from llm.errors import RequestError
from llm.generate.vector_entry import checked_metadata


@pytest.mark.parametrize("good", [{}, {"a": [1, 2.5, True, None, "x", {"b": []}]}, {"n": 2**63}])
def test_metadata_is_copied(good: dict) -> None:
    copy = checked_metadata(good)
    assert copy == good
    assert copy is not good
    assert [type(value) for value in copy.values()] == [type(value) for value in good.values()]


CIRCLE: dict = {}
CIRCLE["itself"] = CIRCLE


@pytest.mark.parametrize(
    "bad", [{1: "a"}, {"a": b"b"}, {"a": float("nan")}, {"a": (1,)}, {"a": {None: 1}}, CIRCLE]
)
def test_metadata_that_a_file_would_change(bad: dict) -> None:
    with pytest.raises(RequestError, match="its keys must be texts"):
        checked_metadata(bad)
