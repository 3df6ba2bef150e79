"""How long each kind of work of a run takes, found by repeating it alone.

Repeated work finds its weights and cells nearer than in a real run, and nothing beside it; so the
sum is about, not exactly, what a run takes. What it shows is where to look.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llm.gpu.operations import MatMul
from llm.gpu.tape import Tape

if TYPE_CHECKING:
    from llm.gpu.device.rendering_device import RenderingDevice

TARGET_SECONDS = 0.01  # of one measurement
MEASUREMENTS = 3
MOST_REPEATS = 200


@dataclass(frozen=True, slots=True)
class WorkTime:
    """One kind of work: `count` times in a run, `microseconds` each."""

    what: str
    count: int
    microseconds: float


@dataclass(frozen=True, slots=True)
class RunProfile:
    """A run of some rows."""

    dependent_steps: int  # that wait for one another
    times: tuple[WorkTime, ...]  # the longest together first


def make_profile(dependent_steps: int, times: Sequence[WorkTime]) -> RunProfile:
    ordered = sorted(times, key=lambda work: -work.count * work.microseconds)
    return RunProfile(dependent_steps, tuple(ordered))


def time_dispatches(
    device: "RenderingDevice", kinds: Mapping[str, Sequence[tuple[Any, ...]]]
) -> list[WorkTime]:
    """`kinds`: what it is -> its rows of a dispatch table in one run."""
    return [
        WorkTime(what, len(rows), _microseconds_each(device, rows)) for what, rows in kinds.items()
    ]


def weight_bytes(tape: Tape) -> int:
    """Bytes of the matrices that a run reads, each once."""
    products = [op for op in tape.operations if isinstance(op, MatMul)]
    return sum(op.weight.format.size_of(op.weight.rows * op.weight.columns) for op in products)


def _microseconds_each(device: "RenderingDevice", rows: Sequence[tuple[Any, ...]]) -> float:
    """Each row waits for the one before it, as most do in a run."""
    waiting = [(*row[:4], True) for row in rows]
    seconds = seconds_of(device, waiting)
    repeats = max(1, min(MOST_REPEATS, int(TARGET_SECONDS / max(seconds, 1e-6))) // len(rows))
    seconds = seconds_of(device, waiting * repeats)
    return seconds / (len(rows) * repeats) * 1e6


def seconds_of(
    device: "RenderingDevice",
    rows: Sequence[tuple[Any, ...]],
    before: Callable[[], None] | None = None,
) -> float:
    """Of the dispatches together; `before` uploads what each run of them needs. The least of some
    measurements after a warm-up: what else the machine does only makes them longer."""
    table = device.table(rows)
    found = []
    for _ in range(1 + MEASUREMENTS):
        if before is not None:
            before()
        device.finish()
        started = time.perf_counter()
        device.play(table)
        device.finish()
        found.append(time.perf_counter() - started)
    return min(found[1:])
