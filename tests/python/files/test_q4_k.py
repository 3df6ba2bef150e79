"""The Q4_K quantiser: what its blocks hold, against the gguf package's own dequantisation."""

import gguf
import numpy as np
import pytest

from llm.files.q4_k import BLOCK, MOST, quantize_q4_k

Q4_K = gguf.GGMLQuantizationType.Q4_K
VALUES = 1 << 16


def restored(values: np.ndarray) -> np.ndarray:
    blocks = quantize_q4_k(values)
    assert (blocks.dtype, blocks.shape) == (np.uint8, (values.size // BLOCK * 144,))
    return gguf.quants.dequantize(blocks.reshape(-1, 144), Q4_K).reshape(values.shape)


def error_of(values: np.ndarray) -> float:
    """Root of the mean square, in standard deviations."""
    return float(np.sqrt(np.mean((restored(values) - values) ** 2)) / values.std())


def drawn(kind: str) -> np.ndarray:
    source = np.random.default_rng(0)
    if kind == "uniform":
        return source.uniform(-1, 1, VALUES).astype(np.float32)
    return getattr(source, kind)(0, 0.05, VALUES).astype(np.float32)


@pytest.mark.parametrize(
    ("kind", "of_llama_cpp"), [("normal", 0.0715), ("laplace", 0.0847), ("uniform", 0.0545)]
)
def test_errors_are_near_those_of_llama_cpp(kind: str, of_llama_cpp: float) -> None:
    """The figures are what quantize_row_q4_K_ref of llama.cpp leaves of such values."""
    assert error_of(drawn(kind)) < 1.03 * of_llama_cpp


def test_no_value_is_further_off_than_two_steps() -> None:
    values = drawn("normal")
    groups = values.reshape(-1, 32)
    step = (groups.max(axis=1) - groups.min(axis=1)) / 15
    off = np.abs(restored(values) - values).reshape(-1, 32).max(axis=1)
    assert (off < 2 * step).all()


def test_zeros() -> None:
    values = np.zeros(3 * BLOCK, np.float32)
    assert not restored(values).any()
    values[BLOCK] = 1.0  # the first of the second block
    found = restored(values)
    assert found[BLOCK] == pytest.approx(1.0, rel=1e-3)
    assert np.count_nonzero(found) == 1


@pytest.mark.parametrize("value", [1.0, -1.0, 1e-3, -3e4, MOST / 2, -MOST / 2])
def test_one_value_everywhere(value: float) -> None:
    values = np.full(BLOCK, value, np.float32)
    assert restored(values) == pytest.approx(values, rel=0.02)


@pytest.mark.parametrize("scale", [MOST, 1e-4, 1e-7, 1e-20, 1e-44])
def test_the_smallest_and_the_largest(scale: float) -> None:
    """Scales are multiples of 2^-24: what is smaller is lost, and nothing becomes NaN."""
    values = drawn("uniform")[: 4 * BLOCK] * np.float32(scale)
    assert np.abs(restored(values) - values).max() < 0.1 * scale + 64 * 15 * 2.0**-25


def test_groups_of_very_different_sizes() -> None:
    """A small group beside a large one has the error that the shared d of 6 bits gives it."""
    values = drawn("uniform")[:BLOCK]
    values[32:] *= 1e-3
    off = np.abs(restored(values) - values)
    assert off[:32].max() < 0.1
    assert off[32:].max() < 2e-2


def test_a_block_does_not_depend_on_its_neighbours() -> None:
    values = drawn("laplace")[: 7 * BLOCK]
    whole = quantize_q4_k(values).reshape(7, 144)
    for block in range(7):
        alone = quantize_q4_k(values[block * BLOCK :][:BLOCK])
        assert np.array_equal(whole[block], alone)
