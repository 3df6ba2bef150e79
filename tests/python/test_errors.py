"""Errors are one line, whatever is in a file's name or in the file."""

import pytest

from llm.errors import (
    DeviceError,
    DeviceMemoryError,
    LLMError,
    ModelFileError,
    NumericError,
    RequestError,
    StateFileError,
    UnsupportedModelError,
    printable,
)

PATH = "two\nlines\x1b[31m\u2028\udcff.gguf"
SHOWN = "two\\nlines\\x1b[31m\\u2028\\udcff.gguf"


@pytest.mark.parametrize(
    "error",
    [
        *(kind(PATH) for kind in (DeviceError, DeviceMemoryError, RequestError, NumericError)),
        ModelFileError(PATH, "field", "problem"),
        ModelFileError("m.gguf", PATH, "problem"),
        StateFileError(PATH, "field", "problem"),
        UnsupportedModelError("m.gguf", "field", PATH, ["this"]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_the_text_is_one_line(error: LLMError) -> None:
    assert SHOWN in str(error)
    assert str(error).isprintable()


def test_an_error_knows_the_path_as_it_is() -> None:
    assert ModelFileError(PATH, "field", "problem").path == PATH


def test_letters_of_any_script_stay() -> None:
    assert printable("модель 🦊 " + "x" * 500) == "модель 🦊 " + "x" * 500
