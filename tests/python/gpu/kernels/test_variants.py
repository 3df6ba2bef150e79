"""Packing parameters and expanding sources, without a GPU."""

import struct

import pytest

from llm.gpu.kernels.shader_source import expand
from llm.gpu.kernels.variants import KERNELS, pack_params


def test_pack_params() -> None:
    packed = pack_params(
        "rms_norm",
        count_at=1,
        norm=16,
        width=64,
        stride=640,
        x=20,
        y=24,
        residual=0xFFFFFFFF,
        eps=0.5,
        scale=2.0,
    )
    assert packed == struct.pack("<6I2fI12x", 16, 64, 640, 20, 24, 0xFFFFFFFF, 0.5, 2.0, 1)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        pytest.param({"x": 0, "y": 0}, KeyError, id="a field is missing"),
        pytest.param({"x": 0, "y": 0, "width": 8, "z": 1}, TypeError, id="an unknown field"),
        pytest.param({"x": -1, "y": 0, "width": 8}, struct.error, id="a negative offset"),
        pytest.param({"x": 2**32, "y": 0, "width": 8}, struct.error, id="beyond a word"),
    ],
)
def test_pack_params_refuses(fields: dict[str, int], error: type[Exception]) -> None:
    with pytest.raises(error):
        pack_params("select_rows", **fields)


@pytest.mark.parametrize("name", KERNELS)
def test_expand(name: str) -> None:
    source = expand(name)
    first, second = source.splitlines()[:2]
    assert first == "#version 450"
    assert second == f"#define GROUP_SIZE {KERNELS[name].group_size}"
    for define, value in KERNELS[name].defines.items():
        assert f"\n#define {define} {value}\n" in source
    assert "#include" not in source
    assert source.isascii()


def test_variants_are_different_kernels() -> None:
    assert len({expand(name) for name in KERNELS}) == len(KERNELS)
