"""Numbers of models with experts on the reference executor, against llama.cpp, in float32."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.architectures import qwen3moe
from support.divergence import divergence
from support.llama_cpp import distributions
from support.loading import finish
from support.random_model import VOCABULARY

from llm.generate.model import load_model

CASES = {**qwen3moe.CASES}


@pytest.mark.parametrize("write", CASES.values(), ids=CASES)
def test_every_position(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    path = write(tmp_path / "tiny.gguf")
    tokens = np.random.default_rng(3).integers(260, VOCABULARY, 41).tolist()
    model = finish(load_model(str(path), executor="reference", max_outputs=41, chunk_rows=41))
    model.forward(tokens, 0, range(len(tokens)))
    result = divergence(*distributions(path, tokens), model.logits())
    print(result)
    assert result.mean < 1e-5
    assert result.same_top == 1.0
