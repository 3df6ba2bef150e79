"""Sound safetensors files, and what is said of others."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.safetensors_builder import safetensors

from llm.errors import ModelFileError
from llm.files.folder.safetensors import MAX_HEADER_BYTES, SafetensorsFile

TENSORS = {
    "first": ("F32", np.arange(15, dtype=np.float32).reshape(3, 5)),
    "second": ("F16", np.arange(7, dtype=np.float16)),
    "empty": ("F32", np.zeros((0, 4), np.float32)),
    "third": ("F8_E4M3", np.arange(6, dtype=np.uint8).reshape(1, 2, 3)),
}


def error_of(tmp_path: Path, content: bytes) -> str:
    path = tmp_path / "m.safetensors"
    path.write_bytes(content)
    with pytest.raises(ModelFileError) as caught:
        SafetensorsFile(str(path))
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{path}: ")


def with_header(header: bytes) -> bytes:
    return struct.pack("<Q", len(header)) + header + bytes(64)


def test_tensors(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    path.write_bytes(safetensors(TENSORS))
    file = SafetensorsFile(str(path))
    assert list(file.tensors) == list(TENSORS)
    assert file.size == path.stat().st_size
    for name, (dtype, values) in TENSORS.items():
        found = file.tensors[name]
        assert (found.dtype, found.shape) == (dtype, values.shape)
        assert found.data().tobytes() == values.tobytes()
        assert not found.data().flags.writeable
    file.close()
    with pytest.raises(ValueError, match="is closed"):
        file.tensors["first"].data()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "file: is empty (0 bytes)", id="empty"),
        pytest.param(b"\1\2", "header length: needs 8 bytes but 2 remain", id="half a length"),
        pytest.param(
            struct.pack("<Q", 2**64 - 1),
            f"header length: is {2**64 - 1:,}, but may be {MAX_HEADER_BYTES:,} at most",
            id="a length beyond all files",
        ),
        pytest.param(
            struct.pack("<Q", 100) + b"{}",
            "header: needs 100 bytes but 2 remain",
            id="a length beyond the file",
        ),
        pytest.param(with_header(b"[]"), "header: is JSON, but not an object", id="a list"),
        pytest.param(with_header(b"{"), "header: is not JSON: Expecting property", id="no JSON"),
        pytest.param(with_header(b'{"\xff":1}'), "header: is not JSON: 'utf-8'", id="no UTF-8"),
        pytest.param(
            with_header(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
            "header: is JSON nested too deeply",
            id="deep",
        ),
        pytest.param(
            with_header(b'{"a":[' + b"[]," * 2_200_000 + b"0]}"),
            "header: holds 4,400,002 values, but may hold 4,194,304 at most",
            id="many values",
        ),
        pytest.param(with_header(b'{"a":' + b"1" * 9000 + b"}"), "header: is not JSON", id="long"),
        pytest.param(with_header(b'{"a":NaN}'), "header: is not JSON: NaN is no number", id="NaN"),
    ],
)
def test_damaged_files(tmp_path: Path, content: bytes, message: str) -> None:
    assert error_of(tmp_path, content).startswith(message)


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        pytest.param(3, "is not described by dtype, shape and data_offsets", id="no object"),
        pytest.param({"dtype": "F32"}, "is not described by", id="parts are missing"),
        pytest.param({"dtype": "F31"}, "has the dtype 'F31', which is none of", id="dtype"),
        pytest.param({"dtype": ["F32"]}, "has the dtype '['F32']'", id="a list of dtypes"),
        pytest.param({"shape": [3, -5]}, "has a shape that is not up to 8", id="below 0"),
        pytest.param({"shape": [3, 5.0]}, "has a shape that is not up to 8", id="a fraction"),
        pytest.param({"shape": [3, True]}, "has a shape that is not up to 8", id="a bool"),
        pytest.param({"shape": [1] * 9}, "has a shape that is not up to 8", id="rank"),
        pytest.param({"shape": 15}, "has a shape that is not up to 8", id="no list"),
        pytest.param({"shape": [2**62, 2**62]}, "has a shape of more than", id="huge"),
        pytest.param(
            {"shape": [3, 6]}, "has 60 bytes by its offsets, but needs 72", id="another size"
        ),
        pytest.param(
            {"data_offsets": [60, 0]}, "has -60 bytes by its offsets, but needs 60", id="reversed"
        ),
        pytest.param(
            {"data_offsets": [0]}, "has data_offsets that are not two whole", id="one offset"
        ),
        pytest.param(
            {"data_offsets": [40, 100]},
            "ends at byte 100 of the data, of which the file has 80; it is cut short or damaged",
            id="beyond the file",
        ),
        pytest.param({"data_offsets": [4, 64]}, "begins before the end of 'first'", id="overlap"),
    ],
)
def test_damaged_entries(tmp_path: Path, entry: Any, problem: str) -> None:
    right = {"dtype": "F32", "shape": [3, 5], "data_offsets": [0, 60]}
    whole = {"first": entry if entry == 3 or entry == {"dtype": "F32"} else right | entry}
    found = error_of(tmp_path, safetensors(TENSORS, changed=whole))
    assert problem in found
    assert found.startswith("tensor '")


def test_a_file_cut_at_any_point(tmp_path: Path) -> None:
    content = safetensors(TENSORS)
    for size in range(len(content)):
        assert error_of(tmp_path, content[:size])


def test_more_tensors_than_any_model_has(tmp_path: Path) -> None:
    entry = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    header = json.dumps({str(n): entry for n in range(70_000)}, separators=(",", ":")).encode()
    message = "header: has 70,000 tensors, but this build reads 65,536 at most"
    assert error_of(tmp_path, with_header(header)) == message
