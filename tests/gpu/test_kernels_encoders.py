"""A kernel of encoders that works on rows of activations."""

import numpy as np
from support.kernel_bench import KernelBench

from llm.gpu.dispatch.launches import thread_groups

X = 0
TABLE = 8192  # words
UNTOUCHED = np.float32(-7.5)


def test_add_positions(bench: KernelBench) -> None:
    source = np.random.default_rng(4)
    x = source.standard_normal((7, 99)).astype(np.float32)
    table = source.standard_normal((40, 99)).astype(np.float32)
    positions = [3, 0, 39, 17, 18, 1]
    bench.put("work", X, np.concatenate((x.ravel(), [UNTOUCHED])))
    bench.put("weights", TABLE, table)
    bench.put_state(ROWS=6, POSITIONS=positions)
    params = {"table": TABLE, "x": X, "width": 99}
    bench.run([("add_positions", params, thread_groups("add_positions", 99, 7))])
    found = bench.floats(X, 7, 99)
    assert (found[:6] == x[:6] + table[positions]).all()
    assert (found[6] == x[6]).all()
    assert bench.floats(X + x.size, 1) == UNTOUCHED
