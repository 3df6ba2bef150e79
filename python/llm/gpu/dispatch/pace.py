"""How many rows of a prompt run at once: drivers end work of some 2 s, and take the device away."""

import time
from collections.abc import Callable

from llm.gpu.program import ROW_BUCKETS

TRIED_ROWS = 32
RUN_SECONDS = 1.0  # of a run at most, by what few rows took: more rows take less each


def find_rows(run: Callable[[int], None], most: int) -> int:
    """How many rows to run at once, by having a few run while the cache is unused; again where the
    first run, which has tables to make, does not show that all are quick enough."""
    tried = min(TRIED_ROWS, most)
    found = 0
    for _ in range(2):
        started = time.perf_counter()
        run(tried)
        found = quick_rows(tried, time.perf_counter() - started, most)
        if found == most:
            break
    return found


def quick_rows(tried: int, seconds: float, most: int) -> int:
    """The most rows, up to `most`, that run in RUN_SECONDS where `tried` rows took `seconds`."""
    fitting = min(most, int(tried * RUN_SECONDS / max(seconds, 1e-9)))
    return max(rows for rows in (*ROW_BUCKETS, most) if rows == 1 or rows <= fitting)
