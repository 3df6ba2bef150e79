"""8-bit floats with each kind of scale, against numpy from the definition."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.safetensors_builder import stored, write_folder
from support.tiny_folders import LLAMA_CONFIG

from llm.errors import ModelFileError
from llm.files.folder.float8 import VALUES
from llm.files.opening import open_model

NAME = "model.layers.0.self_attn.v_proj.weight"  # no row of it changes its place
ROWS, COLUMNS = 300, 200  # no multiple of a block
SHAPES: dict[str, tuple[int, ...]] = {
    "one": (),
    "one in a list": (1,),
    "one in a matrix": (1, 1),
    "of rows": (ROWS,),
    "of rows, as a column": (ROWS, 1),
    "of blocks": (3, 2),
}


def defined(code: int) -> float:
    """The value of an E4M3 code, by its definition."""
    sign = -1.0 if code & 0x80 else 1.0
    exponent, fraction = code >> 3 & 15, code & 7
    if code & 0x7F == 0x7F:
        return float("nan")
    if exponent == 0:
        return sign * 2.0**-6 * (fraction / 8)
    return sign * 2.0 ** (exponent - 7) * (1 + fraction / 8)


def codes(seed: int = 0) -> np.ndarray:
    found = np.random.default_rng(seed).integers(0, 256, (ROWS, COLUMNS), np.uint8)
    found[found & 0x7F == 0x7F] = 0x7E
    return found


def scales(shape: tuple[int, ...]) -> np.ndarray:
    return np.asarray(np.random.default_rng(1).uniform(1e-4, 0.02, shape), np.float32)


def folder(path: Path, tensors: dict[str, Any], **config: Any) -> str:
    return str(write_folder(path, LLAMA_CONFIG | config, tensors))


def error_of(path: Path, tensors: dict[str, Any]) -> str:
    made = folder(path, tensors)
    with pytest.raises(ModelFileError) as caught, open_model(made) as file:
        file.data("blk.0.attn_v.weight")
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{made}/model.safetensors: ")


def test_every_code() -> None:
    assert np.array_equal(VALUES, [defined(code) for code in range(256)], equal_nan=True)


@pytest.mark.parametrize("suffix", ["_scale", "_scale_inv"])
@pytest.mark.parametrize("kind", SHAPES)
def test_scales(tmp_path: Path, kind: str, suffix: str) -> None:
    raw, factors = codes(), scales(SHAPES[kind])
    made = folder(tmp_path, {NAME: ("F8_E4M3", raw), NAME + suffix: ("F32", factors)})
    rows, columns = np.indices(raw.shape)
    if kind == "of blocks":
        each = factors[rows // 128, columns // 128]
    else:
        each = np.broadcast_to(factors.reshape(-1, 1), raw.shape)
    values = np.vectorize(defined)(raw).astype(np.float32) * each
    with open_model(made) as file:
        info = file.tensors["blk.0.attn_v.weight"]
        assert (info.shape, info.format.name) == ((ROWS, COLUMNS), "f16")
        assert list(file.tensors) == ["blk.0.attn_v.weight"]
        expected = values.astype(np.float16)
        assert np.array_equal(file.data(info.name).view(np.float16).reshape(raw.shape), expected)
        some = file.rows(info.name, 131, 5).view(np.float16).reshape(5, COLUMNS)
        assert np.array_equal(some, expected[131:136])


@pytest.mark.parametrize("dtype", ["F16", "BF16"])
def test_types_of_scales(tmp_path: Path, dtype: str) -> None:
    made = folder(
        tmp_path,
        {
            NAME: ("F8_E4M3", codes()),
            NAME + "_scale": stored(np.full((ROWS, 1), 0.5), dtype),
            NAME.replace("weight", "input_scale"): stored(np.ones(1), dtype),
        },
    )
    with open_model(made) as file:
        found = file.data("blk.0.attn_v.weight").view(np.float16).reshape(ROWS, COLUMNS)
        assert np.array_equal(found, (VALUES[codes()] / 2).astype(np.float16))
        assert len(file.tensors) == 1


def test_blocks_of_another_size(tmp_path: Path) -> None:
    factors = scales((10, 4))
    made = folder(
        tmp_path,
        {NAME: ("F8_E4M3", codes()), NAME + "_scale_inv": ("F32", factors)},
        quantization_config={"quant_method": "fp8", "weight_block_size": [32, 64]},
    )
    each = np.repeat(np.repeat(factors, 32, 0), 64, 1)[:ROWS, :COLUMNS]
    with open_model(made) as file:
        found = file.data("blk.0.attn_v.weight").view(np.float16).reshape(ROWS, COLUMNS)
        assert np.array_equal(found, (VALUES[codes()] * each).astype(np.float16))


def test_rows_of_queries_keep_their_scales(tmp_path: Path) -> None:
    """A row that changes its place takes its scale along."""
    name = "model.layers.0.self_attn.q_proj.weight"
    raw = codes()[:128]
    factors = scales((128, 1))
    made = folder(tmp_path, {name: ("F8_E4M3", raw), name + "_scale": ("F32", factors)})
    values = (VALUES[raw] * factors).astype(np.float16)  # (2 heads of 64, K)
    expected = values.reshape(2, 2, 32, COLUMNS).swapaxes(1, 2).reshape(128, COLUMNS)
    with open_model(made) as file:
        found = file.rows("blk.0.attn_q.weight", 3, 100).view(np.float16)
        assert np.array_equal(found.reshape(100, COLUMNS), expected[3:103])


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        pytest.param(
            {},
            f"tensor '{NAME}': is F8_E4M3, but {NAME}_scale_inv or {NAME}_scale is missing",
            id="none",
        ),
        pytest.param(
            {NAME + "_scale": ("F32", np.ones((2, 3), np.float32))},
            f"tensor '{NAME}_scale': has the shape (2, 3); scales of a matrix (300, 200) are 1, "
            "300, or (3, 2) for blocks of 128 x 128",
            id="a wrong shape",
        ),
        pytest.param(
            {NAME + "_scale": ("F32", np.array([np.nan], np.float32))},
            f"tensor '{NAME}_scale': is not all finite",
            id="NaN",
        ),
        pytest.param(
            {NAME + "_scale": ("F32", np.array([1000], np.float32))},
            f"tensor '{NAME}_scale': reaches 1000; weights are held in f16, which ends at 65,504",
            id="too large",
        ),
        pytest.param(
            {NAME + "_scale": ("F8_E4M3", np.ones(1, np.uint8))},
            f"tensor '{NAME}_scale': has the dtype F8_E4M3; scales are F32, F16, BF16 or F8_E8M0",
            id="a wrong type",
        ),
    ],
)
def test_wrong_scales(tmp_path: Path, tensors: dict[str, Any], message: str) -> None:
    assert error_of(tmp_path, {NAME: ("F8_E4M3", codes()), **tensors}) == message


def test_a_weight_that_is_no_number(tmp_path: Path) -> None:
    raw = codes()
    raw[7, 11] = 0xFF
    tensors = {NAME: ("F8_E4M3", raw), NAME + "_scale": ("F32", np.ones(1, np.float32))}
    assert error_of(tmp_path, tensors) == f"tensor '{NAME}': holds NaN"
