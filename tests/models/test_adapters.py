"""Models with LoRA adapters on the reference executor, against llama.cpp with the same ones."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Type
from support.architectures import all_cases
from support.divergence import divergence
from support.llama_cpp import distributions
from support.loading import finish
from support.logits import logits_of
from support.random_model import VOCABULARY
from support.tiny_adapter import write_tiny_adapter
from support.tiny_llama import MIXED, write_tiny_llama

from llm.generate.model import load_model
from llm.generate.request import AdapterUse

TOKENS = np.random.default_rng(3).integers(260, VOCABULARY, 23).tolist()
PIECES = (11, 5, *[1] * 7)  # chunks of a prompt, then tokens
BOUND = 1e-6  # as in test_logits.py
CHANGED = 1e-3  # and more, where an adapter counts

write_llama = partial(write_tiny_llama, formats=dict.fromkeys(MIXED, Type.F32))
EVERY = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down", "output")


def compare(path: Path, adapters: list[tuple[Path, float]]) -> np.ndarray:
    """The logits, which are those of llama.cpp."""
    model = finish(load_model(str(path), executor="reference", max_outputs=11, chunk_rows=11))
    uses = [AdapterUse(str(adapter), weight) for adapter, weight in adapters]
    model.sequences.open().adapt(uses)
    logits = logits_of(model, TOKENS, PIECES)
    assert divergence(*distributions(path, TOKENS, adapters), logits).mean < BOUND
    return logits


@pytest.mark.parametrize("weights", [(1.0, 0.0), (0.5, -0.75), (0.0, 1.0)])
def test_two_adapters(tmp_path: Path, weights: tuple[float, float]) -> None:
    """One of a few matrices; one of all, whose file names no alpha, in float16."""
    path = write_llama(tmp_path / "tiny.gguf")
    files = [
        write_tiny_adapter(tmp_path / "few.gguf", path),
        write_tiny_adapter(
            tmp_path / "all.gguf",
            path,
            names=EVERY,
            rank=3,
            alpha=None,
            seed=5,
            dtype=np.float16,
        ),
    ]
    changed = compare(path, list(zip(files, weights, strict=True)))
    model = finish(load_model(str(path), executor="reference", max_outputs=11, chunk_rows=11))
    plain = logits_of(model, TOKENS, PIECES)
    assert divergence(*distributions(path, TOKENS, []), plain).mean < BOUND
    assert np.abs(changed - plain).max() > CHANGED


CASES = ("gemma3", "phi3", "qwen3", "gemma2", "lfm2", "qwen35", "mistral3")


# A block that predicts one more token is not run, and not adapted.
@pytest.mark.parametrize("write", [it for it in all_cases(*CASES) if "predicts" not in str(it.id)])
def test_architectures(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    path = write(tmp_path / "tiny.gguf")
    names = ("attn_q", "attn_qkv", "attn_v", "attn_output", "ffn_up", "ffn_down", "ssm_out")
    compare(path, [(write_tiny_adapter(tmp_path / "lora.gguf", path, names=names), 1.5)])
