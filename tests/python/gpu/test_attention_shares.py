"""Shares of cells are those by which values are summed up, whatever an attention has besides."""

import numpy as np
import pytest
from support.attention_case import Case, expected_of

from llm.files.formats import FORMATS
from llm.gpu.attention_shares import attention_of
from llm.gpu.operations import Attend, CacheSlab, Tensor, Weight

CASES = {
    "plain": Case(6, 2, 24, 0, (70,)),
    "the first token": Case(6, 2, 24, 0, (0,)),
    "a window": Case(6, 2, 24, 13, (70,)),
    "a cap": Case(6, 3, 24, 0, (41,), soft_cap=1.5),
    "slopes": Case(6, 3, 24, 0, (41,), alibi=8.0),
    "sinks": Case(4, 2, 24, 9, (41,), sinks=(0.5, -1.0, 3.0, 0.0)),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_shares(case: Case) -> None:
    source = np.random.default_rng(5)
    [position] = case.positions
    width = case.kv_heads * case.head_size
    q = source.normal(0, 0.5, (1, case.heads, case.head_size)).astype(np.float32)
    halves = source.normal(0, 1, (1, 2, position + 3, width)).astype(np.float16)
    values = halves.reshape(1, 2, position + 3, case.kv_heads, case.head_size)
    expected, _ = expected_of(case, q, values)
    sinks = Weight("sinks", FORMATS[0], 1, case.heads) if case.sinks else None
    row = Tensor(0, 1, case.heads * case.head_size)
    slab = CacheSlab(0, 0, width)
    op = Attend(
        row,
        slab,
        row,
        case.heads,
        case.kv_heads,
        case.window,
        case.soft_cap,
        alibi=case.alibi,
        sinks=sinks,
    )
    given = np.array(case.sinks, np.float32) if case.sinks else None
    found = attention_of(op, q.reshape(-1), halves[0, 0], position, given)
    assert found.shape == (case.heads, position + 1)
    if case.window:
        assert not found[:, : position + 1 - case.window].any()
    total = found.sum(axis=1)
    assert (total < 0.999).all() if case.sinks else np.allclose(total, 1.0, atol=1e-5)
    group = case.heads // case.kv_heads
    for head in range(case.heads):
        seen = values[0, 1, : position + 1, head // group].astype(np.float64)
        assert np.allclose(found[head] @ seen, expected[0, head], atol=1e-4)
