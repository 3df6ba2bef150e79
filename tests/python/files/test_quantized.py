"""Float matrices that are quantised while they are read."""

from collections.abc import Mapping
from pathlib import Path

import gguf
import numpy as np
import pytest
from gguf import GGMLQuantizationType as Type
from support.gguf_builder import GgufBuilder

from llm.errors import ModelFileError, RequestError
from llm.files import quantized
from llm.files.model_file import ModelFile
from llm.files.opening import open_model

SHAPES: Mapping[str, tuple[int, ...]] = {
    "token_embd.weight": (9, 256),
    "blk.0.attn_q.weight": (11, 512),
    "blk.0.ffn_up.weight": (5, 320),  # no whole block of Q4_K
    "blk.0.ffn_down.weight": (5, 40),  # nor of Q8_0
    "blk.0.ffn_up_exps.weight": (3, 5, 256),
    "blk.0.ffn_gate_inp.weight": (3, 256),
    "blk.0.ssm_conv1d.weight": (256, 32),
    "blk.0.attn_norm.weight": (256,),
    "blk.0.attn_q.bias": (512,),
}
Q8_0 = ["q8_0", "q8_0", "q8_0", "f16", "q8_0", "f32", "f32", "f32", "f32"]
Q4_K = ["q8_0", "q4_k", "q8_0", "f16", "q4_k", "f32", "f32", "f32", "f32"]


def values_of(name: str) -> np.ndarray:
    source = np.random.default_rng(len(name))
    return source.normal(0, 0.1, SHAPES[name]).astype(np.float32)


@pytest.fixture
def path(tmp_path: Path) -> str:
    made = GgufBuilder().add("general.architecture", "x")
    for name, shape in SHAPES.items():
        made.tensor(name, shape, "f32", values_of(name))
    return made.write(tmp_path / "m.gguf")


def restored(file: ModelFile, name: str) -> np.ndarray:
    info = file.tensors[name]
    raw = file.data(name).reshape(*info.shape[:-1], info.row_bytes)
    return gguf.quants.dequantize(raw, Type(info.format.id)).astype(np.float32)


@pytest.mark.parametrize(("target", "formats"), [("q8_0", Q8_0), ("q4_k", Q4_K)])
def test_formats(path: str, target: str, formats: list[str]) -> None:
    with open_model(path, target) as file:
        found = {name: info.format.name for name, info in file.tensors.items()}
        assert found == dict(zip(SHAPES, formats, strict=True))
        assert target in file.kind
        for name, info in file.tensors.items():
            assert info.shape == SHAPES[name]
            steps = {"q8_0": 1 / 254, "q4_k": 2 / 15, "f16": 1e-3, "f32": 0.0}
            largest = np.abs(values_of(name)).max()
            off = np.abs(restored(file, name) - values_of(name)).max()
            assert off <= 1.01 * steps[info.format.name] * largest


def test_an_output_of_its_own_leaves_the_embedding_smaller(tmp_path: Path) -> None:
    made = GgufBuilder().add("general.architecture", "x")
    for name in ("token_embd.weight", "output.weight"):
        made.tensor(name, (2, 256), "f16", np.ones((2, 256), np.float16))
    with open_model(made.write(tmp_path / "m.gguf"), "q4_k") as file:
        assert file.tensors["token_embd.weight"].format.name == "q4_k"
        assert file.tensors["output.weight"].format.name == "q8_0"


def test_what_is_quantised_stays(tmp_path: Path) -> None:
    blocks = np.arange(2 * 22, dtype=np.uint8)
    made = GgufBuilder().add("general.architecture", "x")
    made.tensor("blk.0.attn_q.weight", (2, 32), "q5_0", blocks)
    with open_model(made.write(tmp_path / "m.gguf"), "q4_k") as file:
        assert file.tensors["blk.0.attn_q.weight"].format.name == "q5_0"
        assert np.array_equal(file.data("blk.0.attn_q.weight"), blocks)


@pytest.mark.parametrize("target", ["q8_0", "q4_k"])
def test_rows_do_not_depend_on_the_slices(
    path: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_model(path, target) as file:
        for name, info in file.tensors.items():
            whole = file.data(name).reshape(info.rows, -1)
            for chunk in (1, 700, 1 << 20):
                monkeypatch.setattr(quantized, "_CHUNK", chunk)
                for start, count in ((0, info.rows), (info.rows // 2, 1), (info.rows - 1, 1)):
                    found = file.rows(name, start, count).reshape(count, -1)
                    assert np.array_equal(found, whole[start : start + count])


@pytest.mark.parametrize(
    ("format", "bits", "value"), [("f16", np.float16, 0.5), ("bf16", np.uint16, 1.0)]
)
def test_other_floats(tmp_path: Path, format: str, bits: type, value: float) -> None:
    filled = np.full((2, 256), 0x3F80 if format == "bf16" else value, bits)
    made = GgufBuilder().add("general.architecture", "x")
    made.tensor("blk.0.attn_q.weight", (2, 256), format, filled)
    with open_model(made.write(tmp_path / "m.gguf"), "q8_0") as file:
        assert restored(file, "blk.0.attn_q.weight") == pytest.approx(value, rel=1e-3)


@pytest.mark.parametrize(
    ("target", "value", "problem"),
    [
        ("q8_0", 1e7, "reaches 1e+07, but q8_0 holds 8.31901e+06 at most"),
        ("q4_k", -1e8, "reaches 1e+08, but q4_k holds 65504 at most"),
        ("q4_k", np.nan, "reaches nan, but q4_k holds 65504 at most"),
        ("q8_0", np.inf, "reaches inf, but q8_0 holds 8.31901e+06 at most"),
    ],
)
def test_values_that_no_block_holds(
    tmp_path: Path, target: str, value: float, problem: str
) -> None:
    values = np.zeros((3, 256), np.float32)
    values[2, 7] = value
    made = GgufBuilder().add("general.architecture", "x")
    path = made.tensor("a.weight", values.shape, "f32", values).write(tmp_path / "m.gguf")
    with open_model(path, target) as file:
        assert not file.rows("a.weight", 0, 2).any()
        with pytest.raises(ModelFileError) as caught:
            file.data("a.weight")
    assert str(caught.value) == f"{path}: tensor 'a.weight': {problem}"


def test_slices_are_short_where_rows_are_made(path: str) -> None:
    name = "blk.0.attn_q.weight"
    with open_model(path) as plain, open_model(path, "q4_k") as made:
        assert plain.rows_at_once(name, 1 << 23) == (1 << 23) // (512 * 4)
        assert plain.rows_at_once(name, 1) == 1
        assert made.rows_at_once(name, 1 << 23) == (1 << 21) // 512
        assert made.rows_at_once(name, 1000) == 1000 // (2 * 144)


def test_each_target_has_a_digest_of_its_own(path: str) -> None:
    digests = set()
    for target in ("", "q8_0", "q4_k"):
        with open_model(path, target) as file:
            digests.add(file.digest_without_data())
    assert len(digests) == 3


def test_another_target(path: str) -> None:
    with pytest.raises(RequestError, match="quantize is 'q3_k'; there are q8_0, q4_k"):
        open_model(path, "q3_k")
