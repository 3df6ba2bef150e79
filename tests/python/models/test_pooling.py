"""What a file says of pooling, in llama.cpp's numbers."""

import pytest

from llm.errors import ModelFileError
from llm.files.metadata import Metadata
from llm.models.pooling import pooling_of


def metadata(**more: object) -> Metadata:
    named = {f"llama.{key}": value for key, value in more.items()}
    return Metadata({"general.architecture": "llama", **named}, "m.gguf")


@pytest.mark.parametrize(
    ("number", "name"), [(0, "mean"), (1, "mean"), (2, "first"), (3, "last"), (4, "rank")]
)
def test_numbers(number: int, name: str) -> None:
    assert pooling_of(metadata(pooling_type=number)) == name


def test_a_file_that_says_nothing() -> None:
    assert pooling_of(metadata()) == "mean"


@pytest.mark.parametrize("bad", [5, "mean"])
def test_what_is_no_pooling(bad: object) -> None:
    with pytest.raises(ModelFileError, match=r"m\.gguf: llama\.pooling_type: "):
        pooling_of(metadata(pooling_type=bad))
