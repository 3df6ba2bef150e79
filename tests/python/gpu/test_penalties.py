"""Penalties follow llama.cpp's formula, token by token."""

import numpy as np
import pytest

from llm.gpu.penalties import Penalties

LOGITS = np.array([2.0, -2.0, 0.0, 5.0], np.float32)


@pytest.mark.parametrize(
    ("penalties", "expected"),
    [
        pytest.param(Penalties({}, repeat=2.0), [2, -2, 0, 5], id="nothing seen"),
        pytest.param(Penalties({0: 3, 1: 1}, repeat=2.0), [1, -4, 0, 5], id="repeat divides"),
        pytest.param(Penalties({0: 3}, frequency=0.5), [0.5, -2, 0, 5], id="frequency counts"),
        pytest.param(Penalties({3: 9}, presence=1.5), [2, -2, 0, 3.5], id="presence once"),
        pytest.param(Penalties({2: 1}, repeat=2.0, presence=1.0), [2, -2, -1, 5], id="zero"),
    ],
)
def test_apply(penalties: Penalties, expected: list[float]) -> None:
    before = LOGITS.copy()
    assert penalties.apply(LOGITS).tolist() == expected
    assert LOGITS.tolist() == before.tolist()
