"""Vectors of texts from a GGUF file, on the CPU, against llama.cpp on the same float32 weights."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Type
from support.default_model import DEFAULT_MODEL
from support.embedded import embed, lowest_cosine
from support.llama_cpp import embeddings
from support.tiny_decoder import HEAD_NORMS, write_tiny_decoder
from support.tiny_encoders import ENCODERS
from support.tiny_gemma import MIXED, write_tiny_gemma
from support.tiny_llama import MIXED as LLAMA_MIXED
from support.tiny_llama import write_tiny_llama

GOLDEN = Path(__file__).parents[2] / "golden"
TEXTS = ("a", "Where is the inn?", "Käse, and a text that is longer than any window of five")


@pytest.mark.parametrize("pooling", ["mean", "first", "last"])
@pytest.mark.parametrize(
    ("write", "formats"),
    [(write_tiny_gemma, MIXED), (write_tiny_llama, LLAMA_MIXED)],
    ids=["gemma", "llama"],
)
def test_tiny_models(
    tmp_path: Path, write: Callable[..., Path], formats: dict[str, Type], pooling: str
) -> None:
    path = write(tmp_path / "tiny.gguf", formats=dict.fromkeys(formats, Type.F32))
    expected = embeddings(path, TEXTS, pooling)
    found = embed(path, TEXTS, pooling, 96)
    assert lowest_cosine(found, expected) > 1 - 1e-5  # seen: 1 - 5e-7


def test_pooling_of_the_file(tmp_path: Path) -> None:
    path = write_tiny_gemma(
        tmp_path / "tiny.gguf",
        formats=dict.fromkeys(MIXED, Type.F32),
        metadata={"gemma3.pooling_type": 3},
    )
    found = embed(path, TEXTS, "auto", 96)
    assert lowest_cosine(found, embeddings(path, TEXTS, "auto")) > 1 - 1e-5
    assert (found == embed(path, TEXTS, "last", 96)).all()


def test_a_decoder_that_was_trained_to_embed(tmp_path: Path) -> None:
    """Qwen3-Embedding: the last row, which has seen the others."""
    path = write_tiny_decoder(
        tmp_path / "tiny.gguf", "qwen3", block=HEAD_NORMS, metadata={"pooling_type": 3}
    )
    found = embed(path, TEXTS, "auto", 96)
    assert lowest_cosine(found, embeddings(path, TEXTS, "auto")) > 1 - 1e-6


@pytest.mark.parametrize("write", ENCODERS.values(), ids=ENCODERS.keys())
def test_encoders(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    """Of which a text may end with tokens that the file asks for."""
    path = write(tmp_path / "tiny.gguf")
    found = embed(path, TEXTS, "auto", 96)
    assert lowest_cosine(found, embeddings(path, TEXTS, "auto")) > 1 - 1e-6  # seen: 1 - 3e-7


@pytest.mark.parametrize("name", ["bert", "bert, one type of tokens", "gemma-embedding"])
def test_encoders_quantised_while_they_load(tmp_path: Path, name: str) -> None:
    path = ENCODERS[name](tmp_path / "tiny.gguf")
    found = embed(path, TEXTS, "auto", 96, "q8_0")
    cosine = lowest_cosine(found, embed(path, TEXTS, "auto", 96))
    assert 1 - 1e-3 < cosine < 1 - 1e-7


def test_the_default_model() -> None:
    golden = np.load(GOLDEN / "embeddings.npz")
    found = embed(DEFAULT_MODEL, golden["texts"].tolist(), "auto", 512)
    assert lowest_cosine(found, golden["vectors"]) > 1 - 1e-5  # seen: 1 - 5e-7
    assert np.abs(np.linalg.norm(found, axis=1) - 1.0).max() < 1e-6
