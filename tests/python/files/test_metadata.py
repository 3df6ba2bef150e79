"""The getters, and what they say of values that are missing or of another kind."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.gguf_builder import F64, I64, U64, GgufBuilder
from support.sample_gguf import rich

from llm.errors import ModelFileError
from llm.files.gguf import GgufFile
from llm.files.metadata import Metadata


@pytest.fixture(scope="module")
def metadata(tmp_path_factory: pytest.TempPathFactory) -> Metadata:
    path = tmp_path_factory.mktemp("files") / "rich.gguf"
    return GgufFile.open(rich().write(path)).metadata


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("general.name", "A rich file: ünïcode 🦊"),
        ("general.alignment", 64),
        ("a.u8", 255),
        ("a.i8", -128),
        ("a.u16", 65535),
        ("a.i16", -32768),
        ("a.u32", 2**32 - 1),
        ("a.i32", -5),
        ("a.f32", 0.5),
        ("a.true", True),
        ("a.false", False),
        ("a.empty", ""),
        ("a.u64", 2**64 - 1),
        ("a.i64", -(2**63)),
        ("a.f64", 1e300),
    ],
)
def test_scalars(metadata: Metadata, key: str, value: object) -> None:
    assert metadata[key] == value
    assert type(metadata[key]) is type(value)


@pytest.mark.parametrize("letter", ["u1", "i1", "u2", "i2", "u4", "i4", "f4", "u8", "i8", "f8"])
def test_arrays_of_numbers_are_views_into_the_file(metadata: Metadata, letter: str) -> None:
    found = metadata.numbers(f"array.{letter}")
    np.testing.assert_array_equal(found, np.arange(7))
    assert found.dtype == np.dtype("<" + letter)
    assert found.base is not None
    assert not found.flags.writeable


def test_other_arrays(metadata: Metadata) -> None:
    assert metadata.array("array.bool").tolist() == [True, False, True]
    assert metadata.array("array.bool").dtype == np.bool_
    assert len(metadata.array("array.none")) == 0
    expected = [b"", b"one", "zwölf".encode(), b"\xff\xfe not UTF-8", b"x" * 300]
    assert metadata.strings("array.strings") == metadata.array("array.strings") == expected


def test_a_string_array_is_a_sequence(metadata: Metadata) -> None:
    found = metadata["array.strings"]
    assert len(found) == 5
    assert [found[index] for index in range(-5, 5)] == list(found) * 2
    assert found[1:3] == [b"one", "zwölf".encode()]
    assert b"one" in found
    with pytest.raises(IndexError):
        found[5]


def test_defaults_stand_in_for_missing_keys_only(metadata: Metadata) -> None:
    assert metadata.int("no.such", 7) == 7
    assert metadata.float("no.such", None) is None
    assert metadata.str("no.such", default="x") == "x"
    assert metadata.bool("no.such", True) is True
    assert metadata.array("no.such", None) is None
    assert metadata.strings("no.such", []) == []
    assert metadata.int("a.u8", 7) == 255


def test_a_float_may_be_stored_as_a_whole_number(metadata: Metadata) -> None:
    assert metadata.float("a.u8") == 255.0
    assert type(metadata.float("a.u8")) is float


def test_metadata_of_a_dictionary() -> None:
    made = Metadata({"a": 1, "tokens": [b"x"]}, "made.gguf")
    assert (made.int("a"), made.strings("tokens"), sorted(made)) == (1, [b"x"], ["a", "tokens"])


@pytest.mark.parametrize(
    ("read", "key", "problem"),
    [
        pytest.param(Metadata.int, "no.such", "is missing from the metadata", id="missing"),
        pytest.param(Metadata.array, "no.such", "is missing from the metadata", id="missing array"),
        pytest.param(
            Metadata.int, "a.f32", "expected a whole number, found 0.5", id="float for int"
        ),
        pytest.param(
            Metadata.int, "a.true", "expected a whole number, found true", id="bool for int"
        ),
        pytest.param(
            Metadata.int, "a.u64", "is 18,446,744,073,709,551,615, but must be 0 to", id="too large"
        ),
        pytest.param(Metadata.int, "a.i32", "is -5, but must be 0 to 2,147,483,647", id="negative"),
        pytest.param(
            Metadata.float,
            "general.architecture",
            "expected a number, found the text 'gemma3'",
            id="text for float",
        ),
        pytest.param(Metadata.bool, "a.u8", "expected true or false, found 255", id="int for bool"),
        pytest.param(
            Metadata.str,
            "array.strings",
            "expected text, found an array of 5 strings",
            id="strings for text",
        ),
        pytest.param(
            Metadata.strings,
            "array.f4",
            "expected an array of strings, found an array of 7 numbers (float32)",
            id="numbers for strings",
        ),
        pytest.param(
            Metadata.numbers,
            "array.strings",
            "expected an array of numbers, found an array of 5 strings",
            id="strings for numbers",
        ),
    ],
)
def test_getters_name_file_key_and_what_they_found(
    metadata: Metadata, read: Callable[[Metadata, str], Any], key: str, problem: str
) -> None:
    with pytest.raises(ModelFileError) as caught:
        read(metadata, key)
    assert (caught.value.path, caught.value.field) == (metadata.path, key)
    assert caught.value.problem.startswith(problem)


def test_a_number_that_is_not_finite(tmp_path: Path) -> None:
    made = GgufBuilder().add("a", float("nan")).add("b", float("-inf"), F64)
    found = GgufFile.open(made.write(tmp_path / "m.gguf")).metadata
    for key in "ab":
        with pytest.raises(ModelFileError, match="but must be finite"):
            found.float(key)


def test_bounds_of_the_caller(metadata: Metadata) -> None:
    assert metadata.int("a.i32", minimum=-5) == -5
    with pytest.raises(ModelFileError, match=r"a\.u8: is 255, but must be 1 to 254"):
        metadata.int("a.u8", minimum=1, maximum=254)


VALUES = st.one_of(
    st.tuples(st.integers(0, 2**64 - 1), st.just(U64)),
    st.tuples(st.integers(-(2**63), 2**63 - 1), st.just(I64)),
    st.tuples(st.floats(allow_nan=False), st.just(F64)),
    st.tuples(st.booleans(), st.none()),
    st.tuples(st.text(max_size=40).filter(lambda text: max(text + " ") < "\ud800"), st.none()),
    st.tuples(st.lists(st.binary(max_size=20), min_size=1, max_size=9), st.none()),
)


@settings(max_examples=80, deadline=None)
@given(values=st.dictionaries(st.text("abc.ü", min_size=1, max_size=9), VALUES, max_size=9))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, tuple[Any, int | None]]
) -> None:
    made = GgufBuilder()
    for key, (value, kind) in values.items():
        made.add(f"x{key}", value, kind)
    path = tmp_path_factory.getbasetemp() / "written.gguf"
    found = GgufFile.open(made.write(path)).metadata
    read = {key: list(value) if isinstance(value, list) else value for key, value in found.items()}
    read = {key: value if np.isscalar(value) else list(value) for key, value in read.items()}
    assert read == {f"x{key}": value for key, (value, _) in values.items()}
