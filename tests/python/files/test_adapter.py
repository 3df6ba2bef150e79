"""Files of LoRA adapters: what they say, and one line for those that cannot be used."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.tiny_adapter import RANK, write_tiny_adapter
from support.tiny_llama import LAYERS, WIDTH, write_tiny_llama

from llm.errors import LLMError, ModelFileError, UnsupportedModelError
from llm.files.adapter import AdapterFile

Q = "blk.1.attn_q.weight"
A, B = f"{Q}.lora_a", f"{Q}.lora_b"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_llama(tmp_path_factory.mktemp("models") / "tiny.gguf")


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def test_what_it_says(tmp_path: Path, model: Path) -> None:
    values = np.random.default_rng(1).standard_normal((RANK, WIDTH)).astype(np.float32)
    path = write_tiny_adapter(tmp_path / "lora.gguf", model, replaced={A: values})
    file = AdapterFile.open(str(path))
    assert (file.architecture, file.rank, file.alpha) == ("llama", RANK, 12.0)
    assert len(file.pairs) == 5 * LAYERS
    pair = file.pairs[Q]
    assert (pair.a.shape, pair.b.shape) == ((RANK, WIDTH), (512, RANK))
    assert file.scale(pair) == 12.0 / RANK
    assert np.array_equal(file.matrix(pair.a), values)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_floats_stay_as_they_are(tmp_path: Path, model: Path, dtype: Any) -> None:
    path = write_tiny_adapter(tmp_path / "lora.gguf", model, dtype=dtype)
    file = AdapterFile.open(str(path))
    assert {file.matrix(pair.b).dtype for pair in file.pairs.values()} == {np.dtype(dtype)}


def test_without_an_alpha_nothing_is_divided(tmp_path: Path, model: Path) -> None:
    file = AdapterFile.open(str(write_tiny_adapter(tmp_path / "lora.gguf", model, alpha=None)))
    assert file.scale(file.pairs[Q]) == 1.0


def test_each_matrix_has_a_rank_of_its_own(tmp_path: Path, model: Path) -> None:
    replaced = {A: zeros(9, WIDTH), B: zeros(512, 9)}
    path = write_tiny_adapter(tmp_path / "lora.gguf", model, replaced=replaced)
    file = AdapterFile.open(str(path))
    assert (file.rank, file.pairs[Q].rank, file.scale(file.pairs[Q])) == (9, 9, 12.0 / 9)


def test_norms_are_passed_over(tmp_path: Path, model: Path) -> None:
    replaced = {"blk.0.attn_norm.weight": zeros(WIDTH)}
    path = write_tiny_adapter(tmp_path / "lora.gguf", model, replaced=replaced)
    assert len(AdapterFile.open(str(path)).pairs) == 5 * LAYERS


def test_the_digest_tells_numbers_apart(tmp_path: Path, model: Path) -> None:
    paths = [
        write_tiny_adapter(tmp_path / f"{number}.gguf", model, seed=seed)
        for number, seed in enumerate((1, 1, 2))
    ]
    first, same, other = (AdapterFile.open(str(path)).digest() for path in paths)
    assert first == same != other


@pytest.mark.parametrize(
    ("changes", "error", "told"),
    [
        ({"metadata": {"general.type": "model"}}, ModelFileError, "general.type: is 'model', not"),
        (
            {"metadata": {"adapter.type": "dora"}},
            UnsupportedModelError,
            "adapter.type is 'dora'; this build runs lora",
        ),
        (
            {"metadata": {"adapter.alora.invocation_tokens": "x"}},
            UnsupportedModelError,
            "adapter.type is 'lora that tokens switch on (aLoRA)'",
        ),
        ({"alpha": float("nan")}, ModelFileError, "adapter.lora.alpha: is nan"),
        ({"names": ()}, ModelFileError, "tensors: are 0, of them 0 pairs"),
        ({"replaced": {B: None}}, ModelFileError, f"tensor '{B}': is missing beside '{A}'"),
        ({"replaced": {A: None}}, ModelFileError, f"tensor '{A}': is missing beside '{B}'"),
        (
            {"replaced": {A: zeros(4, WIDTH)}},
            ModelFileError,
            f"tensor '{A}': has 4 rows, and .lora_b {RANK} columns; both are the rank",
        ),
        (
            {"replaced": {A: zeros(2, 4, WIDTH)}},
            UnsupportedModelError,
            f"tensor '{A}' is 'of experts, with 3 dimensions'; this build runs those of other",
        ),
        (
            {"replaced": {f"token_embd.weight.lora_{x}": zeros(300, 4) for x in "ab"}},
            UnsupportedModelError,
            "tensor 'token_embd.weight.lora_a' is 'of the embedding'; this build runs those of ot",
        ),
        (
            {"replaced": {"blk.0.attn_q.bias": zeros(8)}},
            ModelFileError,
            "tensor 'blk.0.attn_q.bias': ends neither with .lora_a nor with .lora_b",
        ),
    ],
)
def test_errors_are_one_line(
    tmp_path: Path, model: Path, changes: dict[str, Any], error: type[LLMError], told: str
) -> None:
    path = write_tiny_adapter(tmp_path / "lora.gguf", model, **changes)
    with pytest.raises(error) as raised:
        AdapterFile.open(str(path))
    message = str(raised.value)
    assert type(raised.value) is error
    assert message.startswith(f"{path}: ") and told in message and "\n" not in message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="does not exist"):
        AdapterFile.open(str(tmp_path / "no.gguf"))
