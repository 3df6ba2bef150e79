"""Broken files: a row for each way to be broken, and what the message says of it."""

import struct
from pathlib import Path

import numpy as np
import pytest
from support.gguf_builder import STRING, GgufBuilder

from llm.errors import LLMError, ModelFileError, UnsupportedModelError
from llm.files.gguf import MAX_TENSORS, GgufFile
from llm.files.metadata import MAX_PAIRS

HUGE = 2**64 - 1


def small() -> GgufBuilder:
    """500 bytes: the data of `first` at 256, of `second` at 480."""
    made = GgufBuilder().add("name", "gemma3").add("flag", True)
    made.add("list", np.arange(3, dtype=np.int32)).add("words", ["one", "two"])
    made.tensor("first", (3, 64), "q8_0", np.arange(3 * 68, dtype=np.uint8))
    return made.tensor("second", (5,), "f32", np.arange(5, dtype=np.float32))


def error_of(tmp_path: Path, content: bytes) -> LLMError:
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    with pytest.raises(LLMError) as caught:
        GgufFile.open(str(path))
    assert "\n" not in str(caught.value)
    return caught.value


def message_of(tmp_path: Path, content: bytes) -> str:
    """What follows the path in the message of the ModelFileError."""
    error = error_of(tmp_path, content)
    assert isinstance(error, ModelFileError)
    assert str(error) == f"{tmp_path / 'm.gguf'}: {error.field}: {error.problem}"
    return f"{error.field}: {error.problem}"


def test_the_file_is_sound_before_it_is_broken(tmp_path: Path) -> None:
    made = small()
    file = GgufFile.open(made.write(tmp_path / "m.gguf"))
    assert made.size == 500
    assert [info.offset for info in file.tensors.values()] == [256, 480]


# The field, what is written over it, and the message.
FIELDS = {
    "version 1": (
        ("version", "I", 1),
        "version: is 1, but this build reads versions 2 and 3",
    ),
    "big-endian": (
        ("version", "I", 0x03000000),
        "version: is 0x03000000: the file is big-endian, and this build reads little-endian ones",
    ),
    "more tensors than bytes": (
        ("tensor count", "Q", HUGE),
        f"tensor count: {HUGE:,} tensors need at least {HUGE * 33:,} bytes but 338 remain",
    ),
    "more keys than bytes": (
        ("metadata count", "Q", HUGE),
        f"metadata count: {HUGE:,} keys need at least {HUGE * 14:,} bytes but 476 remain",
    ),
    "key longer than the file": (
        ("name key length", "Q", HUGE),
        f"metadata key 0: needs {HUGE:,} bytes but 468 remain",
    ),
    "empty key": (
        ("flag key length", "Q", 0),
        "metadata key 1: is empty",
    ),
    "key that is not UTF-8": (
        ("flag key", "B", 0xFF),
        "metadata key 1: is not UTF-8: byte 0xff at 0 of 4",
    ),
    "text that is not UTF-8": (
        ("name", "B", 0xC3),
        "metadata 'name': is not UTF-8: byte 0xc3 at 0 of 6",
    ),
    "text longer than the file by one": (
        ("name length", "Q", 453),
        "metadata 'name': needs 453 bytes but 452 remain",
    ),
    "unknown value type": (
        ("flag type", "I", 13),
        "metadata 'flag': has value type 13, but the types are 0 to 12",
    ),
    "bool that is 2": (
        ("flag", "B", 2),
        "metadata 'flag': is a bool of value 2, but must be 0 or 1",
    ),
    "array longer than the file": (
        ("list count", "Q", 2**62),
        f"metadata 'list': {2**62:,} values need at least {2**64:,} bytes but 401 remain",
    ),
    "array of an unknown type": (
        ("list item type", "I", 99),
        "metadata 'list': is an array of value type 99, but the types are 0 to 12",
    ),
    "more strings than bytes": (
        ("words count", "Q", 46),
        "metadata 'words': 46 strings need at least 368 bytes but 360 remain",
    ),
    "string of an array longer than the file": (
        ("words 1 length", "Q", 342),
        "metadata 'words', string 1: needs 342 bytes but 341 remain",
    ),
    "empty name": (
        ("first name length", "Q", 0),
        "tensor name 0: is empty",
    ),
    "no dimension": (
        ("first rank", "I", 0),
        "tensor 'first' dimensions: are 0, but must be 1 to 4",
    ),
    "five dimensions": (
        ("first rank", "I", 5),
        "tensor 'first' dimensions: are 5, but must be 1 to 4",
    ),
    "dimension of nothing": (
        ("first dimension 1", "Q", 0),
        f"tensor 'first' dimensions: are (0, 64), but must hold 1 to {2**63 - 1:,} values",
    ),
    "dimensions that overflow": (
        ("first dimension 1", "Q", 2**58),
        f"tensor 'first' dimensions: are ({2**58}, 64), but must hold 1 to {2**63 - 1:,} values",
    ),
    "row that is not whole blocks": (
        ("first dimension 0", "Q", 63),
        "tensor 'first' dimensions: are (3, 63), "
        "but q8_0 stores 32 values a block, so a row must be a multiple of it",
    ),
    "data longer than the file": (
        ("first dimension 1", "Q", 4),
        "tensor 'first' data: needs 272 bytes at 256 but 244 remain; "
        "the file is cut short or damaged",
    ),
    "offset between alignments": (
        ("second offset", "Q", 33),
        "tensor 'second' offset: is 33, but must be a multiple of 32",
    ),
    "offset beyond the file": (
        ("second offset", "Q", 2**63),
        f"tensor 'second' data: needs 20 bytes at {2**63 + 256:,} but 0 remain; "
        "the file is cut short or damaged",
    ),
    "data on other data": (
        ("second offset", "Q", 32),
        "tensor 'second' data: begins at 288, before the end of 'first' at 460",
    ),
}


@pytest.mark.parametrize(("patch", "message"), FIELDS.values(), ids=FIELDS)
def test_a_field_that_cannot_be(tmp_path: Path, patch: tuple[str, str, int], message: str) -> None:
    assert message_of(tmp_path, small().patched(*patch)) == message


@pytest.mark.parametrize(
    ("made", "message"),
    [
        pytest.param(
            small().add("flag", False),
            "metadata key 4: 'flag' is there twice",
            id="a key twice",
        ),
        pytest.param(
            small().tensor("first", (1,), "f32", bytes(4)),
            "tensor name 2: 'first' is there twice",
            id="a tensor twice",
        ),
        pytest.param(
            small().add("general.alignment", 0),
            "general.alignment: is 0, but must be a power of two",
            id="alignment 0",
        ),
        pytest.param(
            small().add("general.alignment", 48),
            "general.alignment: is 48, but must be a power of two",
            id="alignment 48",
        ),
        pytest.param(
            small().add("general.alignment", "32"),
            "general.alignment: expected a whole number, found the text '32'",
            id="alignment as text",
        ),
        pytest.param(
            small().add("general.alignment", 2**31),
            "tensor 'second' offset: is 224, but must be a multiple of 2,147,483,648",
            id="alignment beyond the file",
        ),
        pytest.param(
            small().add("bools", np.array([1, 2], np.uint8).view(np.bool_)),
            "metadata 'bools': is an array of bools with value 2, but must be 0 or 1",
            id="bools that are 2",
        ),
        pytest.param(
            small().add("line\nbreak" + "x" * 99, b"\xff", STRING),
            "metadata 'line\\nbreak" + "x" * 49 + "…': is not UTF-8: byte 0xff at 0 of 1",
            id="a key that would break the line",
        ),
    ],
)
def test_a_file_that_contradicts_itself(tmp_path: Path, made: GgufBuilder, message: str) -> None:
    assert message_of(tmp_path, made.build()) == message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(
            small().patched("first format", "I", 4),
            "format of tensor 'first' is 'number 4'; this build runs bf16, f16, f32,",
            id="a tensor format that GGUF no longer has",
        ),
        pytest.param(
            small().patched("second format", "I", 2**32 - 1),
            "format of tensor 'second' is 'number 4,294,967,295'; this build runs",
            id="a tensor format that never was",
        ),
        pytest.param(
            small().add("nested", [["a"], ["b"]]).build(),
            "metadata 'nested' is 'an array of arrays'; "
            "this build runs arrays of numbers, arrays of strings",
            id="an array of arrays",
        ),
    ],
)
def test_a_sound_file_that_asks_for_more(tmp_path: Path, content: bytes, message: str) -> None:
    found = error_of(tmp_path, content)
    assert isinstance(found, UnsupportedModelError)
    assert str(found).startswith(f"{tmp_path / 'm.gguf'}: {message}")


def test_counts_beyond_what_any_model_has(tmp_path: Path) -> None:
    ballast = bytes(MAX_TENSORS * 50)
    made = small().tensor("ballast", (len(ballast),), "i8", ballast)
    assert (
        message_of(tmp_path, made.patched("tensor count", "Q", MAX_TENSORS + 1))
        == "tensor count: is 65,537, but this build reads at most 65,536 tensors"
    )
    assert (
        message_of(tmp_path, made.patched("metadata count", "Q", MAX_PAIRS + 1))
        == "metadata count: is 65,537, but this build reads at most 65,536 keys"
    )


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        pytest.param(
            b"k" * 65_536,
            b"",
            "metadata key 0: is 65,536 bytes long, but may be 65,535 at most",
            id="key",
        ),
        pytest.param(
            b"k",
            bytes((1 << 24) + 1),
            "metadata 'k': is 16,777,217 bytes long, but may be 16,777,216 at most",
            id="value",
        ),
    ],
)
def test_a_string_beyond_what_any_model_has(
    tmp_path: Path, key: bytes, value: bytes, message: str
) -> None:
    header = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", len(key)) + key
    pair = header + struct.pack("<IQ", STRING, len(value)) + value
    assert message_of(tmp_path, pair) == message


def test_the_smallest_file_there_is(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 2, 0, 0))
    assert len(GgufFile.open(str(path)).metadata) == 0
    shorter = path.read_bytes()[:-1]
    assert message_of(tmp_path, shorter) == "metadata count: needs 8 bytes but 7 remain"
