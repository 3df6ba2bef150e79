"""Llama's numbers on the reference executor, against llama.cpp on the same float32 weights."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Type
from support.divergence import divergence
from support.llama_cpp import distributions
from support.loading import finish
from support.random_model import VOCABULARY
from support.tiny_llama import HEAD_SIZE, MIXED, write_tiny_llama

from llm.generate.model import load_model

FACTORS = np.geomspace(1.0, 8.0, HEAD_SIZE // 2)
LINEAR = {"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 4.0}


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="plain"),
        pytest.param({"without": ("output.weight",)}, id="output tied to the embedding"),
        pytest.param({"replaced": {"rope_freqs.weight": FACTORS}}, id="factors of frequencies"),
        pytest.param({"metadata": LINEAR}, id="linear scaling of positions"),
    ],
)
def test_every_position(tmp_path: Path, changes: dict[str, Any]) -> None:
    path = write_tiny_llama(
        tmp_path / "tiny.gguf", formats=dict.fromkeys(MIXED, Type.F32), **changes
    )
    tokens = np.random.default_rng(3).integers(260, VOCABULARY, 41).tolist()
    model = finish(load_model(str(path), executor="reference", max_outputs=41, chunk_rows=41))
    model.forward(tokens, 0, range(len(tokens)))
    result = divergence(*distributions(path, tokens), model.logits())
    assert result.mean < 1e-5  # seen: 3.3e-6; a query 1.1 times too long gives 7.6e-3
    assert result.same_top == 1.0
