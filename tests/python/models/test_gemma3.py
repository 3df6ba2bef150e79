"""Gemma 3 on the reference executor: a tiny random model, whole and in pieces, and broken ones."""

from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Type
from support.loading import finish
from support.logits import logits_of
from support.tiny_gemma import CONTEXT, MIXED, VOCABULARY, WIDTH, write_tiny_gemma

from llm.errors import ModelFileError, NumericError, RequestError, UnsupportedModelError
from llm.generate.model import Model, load_model

PROMPT = np.random.default_rng(3).integers(0, VOCABULARY, 61).tolist()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_gemma(tmp_path_factory.mktemp("models") / "tiny.gguf")


def load(path: Path, **options) -> Model:
    return finish(load_model(str(path), executor="reference", **options))


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([1] * 61, id="token by token"),
        pytest.param([7] * 8 + [5], id="chunks that the window does not divide"),
        pytest.param([31, 1, 29], id="a long chunk, one token, a long chunk"),
    ],
)
def test_pieces_give_what_the_whole_gives(path: Path, pieces: list[int]) -> None:
    model = load(path, context_length=CONTEXT, max_outputs=64, chunk_rows=64)
    whole = logits_of(model, PROMPT, [61])
    assert np.abs(logits_of(model, PROMPT, pieces) - whole).max() < 1e-3 * np.abs(whole).max()


def test_later_positions_are_overwritten_when_the_text_changes(path: Path) -> None:
    model = load(path, max_outputs=64, chunk_rows=64)
    whole = logits_of(model, PROMPT, [61])
    model.forward(list(reversed(PROMPT)), 0, [])
    model.forward(PROMPT[:30], 0, [])
    model.forward(PROMPT[30:], 30, range(31))
    assert np.abs(model.logits() - whole[30:]).max() < 1e-3 * np.abs(whole).max()


def test_the_context_is_cut_to_what_the_file_was_trained_for(path: Path) -> None:
    assert load(path, context_length=4096).context_length == CONTEXT
    assert load(path, context_length=40).context_length == 40


@pytest.mark.parametrize(
    ("count", "position", "message"),
    [
        pytest.param(33, 0, "33 tokens in one run; 1 to 32 fit", id="more than a chunk"),
        pytest.param(0, 0, "0 tokens in one run", id="none"),
        pytest.param(2, 39, "41 tokens do not fit the context of 40", id="beyond the context"),
    ],
)
def test_forward_refuses(path: Path, count: int, position: int, message: str) -> None:
    model = load(path, context_length=40, chunk_rows=32)
    with pytest.raises(RequestError, match=message):
        model.forward([5] * count, position, [])
    model.forward(PROMPT[:4], 0, [3])
    assert len(model.candidates(1).ids) == 1


def test_nan_weights_are_an_error_and_not_a_token(tmp_path: Path) -> None:
    norm = np.ones(WIDTH, np.float32)
    norm[17] = np.nan
    broken = write_tiny_gemma(tmp_path / "nan.gguf", replaced={"blk.3.ffn_norm.weight": norm})
    model = load(broken)
    model.forward(PROMPT[:4], 0, [3])
    with pytest.raises(NumericError, match="NaN or infinite"):
        model.candidates(1)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        pytest.param(
            {"metadata": {"gemma3.block_count": None}},
            ModelFileError,
            "gemma3.block_count",
            id="missing metadata",
        ),
        pytest.param(
            {"metadata": {"gemma3.attention.head_count": 0}},
            ModelFileError,
            "head_count: 0",
            id="no heads",
        ),
        pytest.param(
            {"metadata": {"gemma3.attention.head_count_kv": 4}},
            ModelFileError,
            "6 heads do not share 4",
            id="heads that do not divide",
        ),
        pytest.param(
            {"metadata": {"gemma3.embedding_length": 255}},
            ModelFileError,
            "300x256.*300x255",
            id="metadata and tensors disagree",
        ),
        pytest.param(
            {"metadata": {"gemma3.block_count": 40}},
            ModelFileError,
            "blk.8.attn_norm.weight: missing",
            id="more layers than tensors",
        ),
        pytest.param(
            {"without": ("blk.2.ffn_up.weight",)},
            ModelFileError,
            "blk.2.ffn_up.weight: missing",
            id="missing tensor",
        ),
        pytest.param(
            {"formats": {**MIXED, "ffn_up": Type.Q8_0, "ffn_down": Type.Q8_1}},
            UnsupportedModelError,
            "q8_1.*this build runs",
            id="a format without kernels",
        ),
    ],
)
def test_broken_models(tmp_path: Path, changes: dict, error: type, message: str) -> None:
    path = write_tiny_gemma(tmp_path / "broken.gguf", **changes)
    with pytest.raises(error, match=message):
        load(path)


def test_other_architectures_are_named_with_the_known_ones(tmp_path: Path) -> None:
    path = write_tiny_gemma(tmp_path / "other.gguf")
    path.write_bytes(path.read_bytes().replace(b"gemma3", b"mamba9"))
    with pytest.raises(UnsupportedModelError, match=r"'mamba9'; this build runs .*gemma3, .*llama"):
        load(path)
