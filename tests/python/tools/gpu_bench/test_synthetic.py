"""Model files with random weights: that other readers take them, and that they run."""

import dataclasses
from pathlib import Path

import gguf
import numpy as np
import pytest

from gpu_bench import synthetic
from gpu_bench.shapes import SHAPES, Gemma4Shape, Shape
from llm.generate.model import load_model
from setup.report import SetupError


def small(name: str) -> Shape:
    """The shape with three narrow layers and few words, divided by no tile."""
    sizes = {"layers": 3, "feed_forward": 768, "vocabulary": 1037, "heads": 4, "kv_heads": 2}
    shape = dataclasses.replace(SHAPES[name], **sizes, head_size=64, context=200)
    if shape.experts:
        shape = dataclasses.replace(shape, feed_forward=256, experts=7, used_experts=3)
    if isinstance(shape, Gemma4Shape):
        own = {"window_head_size": 64, "pattern": 2, "shared_layers": 1, "layer_width": 256}
        shape = dataclasses.replace(shape, **own, head_size=128, shared_feed_forward=1280)
    return dataclasses.replace(shape, width=320 if name == "gemma3-270m" else 512)


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("gemma3-270m", 0.268),
        pytest.param("llama-1b", 1.236 + 0.263, id="llama-1b, with an output of its own"),
        ("llama-8b", 8.030),
        ("qwen3-8b", 8.191),
        ("qwen3-14b", 14.768),
        ("qwen3-30b-a3b", 30.532),
        ("gpt-oss-20b", 20.915),
        ("gemma4-e2b", 4.629),
    ],
)
def test_a_shape_has_as_many_weights_as_the_real_model(name: str, billions: float) -> None:
    count = sum(int(np.prod(sizes)) for _, sizes, _ in SHAPES[name].tensors())
    assert count / 1e9 == pytest.approx(billions, abs=0.001)


@pytest.mark.parametrize("name", SHAPES)
def test_the_gguf_package_reads_the_file(name: str, tmp_path: Path) -> None:
    shape = small(name)
    path = tmp_path / "small.gguf"
    synthetic.ensure(path, shape)
    reader = gguf.GGUFReader(path)
    assert reader.get_field("general.architecture").contents() == shape.architecture
    assert len(reader.get_field("tokenizer.ggml.tokens").contents()) == shape.vocabulary
    expected = {name: (sizes, block) for name, sizes, block in shape.tensors()}
    found = {
        tensor.name: (tuple(map(int, reversed(tensor.shape))), tensor.tensor_type.name.lower())
        for tensor in reader.tensors
    }
    assert found == expected
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        assert np.isfinite(values).all()
        assert 0.001 < np.abs(values).mean() <= 1.0, tensor.name


@pytest.mark.parametrize("name", ["gemma3-270m", "llama-1b", "qwen3-30b-a3b", "gemma4-e2b"])
def test_the_model_runs(name: str, tmp_path: Path) -> None:
    path = tmp_path / "small.gguf"
    synthetic.ensure(path, small(name))
    steps = load_model(str(path), executor="reference", context_length=64)
    while True:
        try:
            next(steps)
        except StopIteration as finished:
            model = finished.value
            break
    model.forward([300 + index for index in range(20)], 0, [19])
    logits = model.logits()
    assert logits.shape == (1, 1037)
    assert np.isfinite(logits).all()
    assert np.ptp(logits) > 1e-3
    model.close()


def test_a_file_that_is_there_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "small.gguf"
    path.write_bytes(b"kept")
    synthetic.ensure(path, small("llama-1b"))
    assert path.read_bytes() == b"kept"


def test_a_full_disk_is_told_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synthetic, "SPARE_BYTES", 1 << 62)
    with pytest.raises(SetupError, match="name a folder on another disk with --models"):
        synthetic.ensure(tmp_path / "small.gguf", small("llama-1b"))
    assert list(tmp_path.iterdir()) == []
