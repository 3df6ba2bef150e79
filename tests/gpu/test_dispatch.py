"""The dispatch executor gives what the reference gives, on tiny models in every block format."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Type
from support.executors import load, load_dispatch
from support.logits import logits_of
from support.random_model import VOCABULARY
from support.tiny_gemma import MIXED, WIDTH, write_tiny_gemma
from support.tiny_llama import write_tiny_k_quant_llama, write_tiny_llama

from llm.errors import NumericError, UnsupportedModelError
from llm.generate.model import Model, load_model
from llm.gpu.adjustments import Adjustments
from llm.gpu.dispatch import pace

ALL_F32 = dict.fromkeys(MIXED, Type.F32)
PROMPT = np.random.default_rng(3).integers(0, VOCABULARY, 61).tolist()
# Sums in another order flip the rounding of a float16 key or value here and there; on these random
# weights one flip moved a logit by 1.3e-3 of the largest. A wrong scale or mask moves them by 1e-1.
TOLERANCE = 3e-3


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_gemma(tmp_path_factory.mktemp("models") / "tiny.gguf")


@pytest.fixture(scope="module", params=[True, False], ids=["software", "hardware"])
def dispatch(path: Path, request: pytest.FixtureRequest) -> Iterator[Model]:
    model = load_dispatch(path, is_cpu=request.param)
    yield model
    model.close()


@pytest.fixture(scope="module")
def reference(path: Path) -> Model:
    return load(path, "reference")


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([61], id="one chunk"),
        pytest.param([7] * 8 + [5], id="few rows at a time"),
        pytest.param([31, 1, 1, 1, 27], id="a chunk, three tokens, a chunk"),
    ],
)
def test_logits(dispatch: Model, reference: Model, pieces: list[int]) -> None:
    expected = logits_of(reference, PROMPT, [61])
    found = logits_of(dispatch, PROMPT, pieces)
    assert np.abs(found - expected).max() < TOLERANCE * np.abs(expected).max()


@pytest.mark.parametrize("is_cpu", [True, False], ids=["software", "hardware"])
@pytest.mark.parametrize(
    "write",
    [
        pytest.param(write_tiny_llama, id="mixed formats"),
        pytest.param(write_tiny_k_quant_llama, id="Q4_K_M"),
        pytest.param(
            partial(write_tiny_llama, metadata={"llama.rope.dimension_count": 40}),
            id="part of a head rotated",
        ),
    ],
)
def test_llama(tmp_path: Path, write: Callable[[Path], Path], is_cpu: bool) -> None:
    path = write(tmp_path / "tiny.gguf")
    expected = logits_of(load(path, "reference"), PROMPT, [61])
    model = load_dispatch(path, is_cpu=is_cpu)
    for pieces in ([61], [7] * 8 + [5], [31, *[1] * 30]):
        found = logits_of(model, PROMPT, pieces)
        assert np.abs(found - expected).max() < TOLERANCE * np.abs(expected).max()
    model.close()


@pytest.mark.parametrize("is_cpu", [True, False], ids=["software", "hardware"])
def test_runs_are_short_on_a_slow_device(
    path: Path, reference: Model, is_cpu: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But software has no watchdog. What was run to find out leaves nothing behind."""
    asked = []

    def slow(tried: int, seconds: float, most: int) -> int:
        assert seconds > 0.0
        asked.append((tried, most))
        return 8

    monkeypatch.setattr(pace, "quick_rows", slow)
    model = load_dispatch(path, is_cpu=is_cpu)
    assert asked == ([] if is_cpu else [(32, 64)] * 2)
    assert model.chunk_size == (64 if is_cpu else 8)
    expected = logits_of(reference, PROMPT, [61])
    found = logits_of(model, PROMPT, [7] * 8 + [5])
    assert np.abs(found - expected).max() < TOLERANCE * np.abs(expected).max()
    model.close()


def test_a_quick_device_is_tried_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def quick(_tried: int, _seconds: float, most: int) -> int:
        asked.append(most)
        return most

    monkeypatch.setattr(pace, "quick_rows", quick)
    model = load_dispatch(path, is_cpu=False)
    assert asked == [64]
    assert model.chunk_size == 64
    model.close()


@pytest.mark.parametrize("outputs", [[60], [0, 17, 60], [5, 5]])
def test_only_the_wanted_rows(dispatch: Model, reference: Model, outputs: list[int]) -> None:
    expected = logits_of(reference, PROMPT, [61])[outputs]
    dispatch.forward(PROMPT, 0, outputs)
    found = dispatch.logits()
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() < TOLERANCE * np.abs(expected).max()


@pytest.mark.parametrize("k", [1, 2, 40, 255, 256, 0])
@pytest.mark.parametrize(
    "adjustments",
    [
        None,
        Adjustments({token: 2 for token in range(0, 300, 3)}, 1.7, 0.4, 0.3, {5: 3.0, 9: -8.0}),
        Adjustments({3: 1}, 2.0, mask=np.arange(1, 11, dtype=np.uint32)),
    ],
    ids=["plain", "penalised", "masked"],
)
def test_candidates(
    dispatch: Model, reference: Model, k: int, adjustments: Adjustments | None
) -> None:
    for model in (dispatch, reference):
        model.forward(PROMPT, 0, [60])
    found = dispatch.candidates(k, adjustments)
    expected = reference.candidates(k, adjustments)
    scale = np.abs(expected.logits).max()
    assert found.ids.dtype == np.int64
    assert len(found.ids) == len(expected.ids) == (k or VOCABULARY)
    assert np.abs(found.logits - expected.logits).max() < TOLERANCE * scale
    assert (np.diff(found.logits) <= 0).all()
    assert len(set(found.ids.tolist())) == len(found.ids)


def test_nan_weights(tmp_path: Path) -> None:
    norm = np.ones(WIDTH, np.float32)
    norm[17] = np.nan
    path = write_tiny_gemma(tmp_path / "nan.gguf", replaced={"blk.3.ffn_norm.weight": norm})
    model = load(path, "dispatch")
    for k in (1, 40, 0):
        model.forward(PROMPT[:4], 0, [3])
        with pytest.raises(NumericError, match="NaN or infinite"):
            model.candidates(k)
    model.close()


def test_a_format_without_kernels(tmp_path: Path) -> None:
    formats = {**MIXED, "ffn_down": Type.Q8_1}
    path = write_tiny_gemma(tmp_path / "q8_1.gguf", formats=formats)
    with pytest.raises(UnsupportedModelError, match=r"ffn_down.*q8_1.*this build runs"):
        load(path, "dispatch")


def test_rows_that_no_kernel_divides(tmp_path: Path) -> None:
    path = write_tiny_gemma(tmp_path / "odd.gguf", feed_forward=500, formats=ALL_F32)
    with pytest.raises(UnsupportedModelError, match=r"ffn_down.*is '500'.*multiples of 32"):
        load(path, "dispatch")
    load(path, "reference").close()


def test_loading_given_up_half_way_frees_its_buffers(path: Path) -> None:
    steps = load_model(str(path), executor="dispatch", context_length=96)
    for _ in range(8):
        next(steps)
    steps.close()
    model = load(path, "dispatch")
    model.forward(PROMPT[:3], 0, [2])
    assert len(model.candidates(1).ids) == 1
    model.close()
    model.close()
