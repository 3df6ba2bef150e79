"""How long each kind of step of a pass takes: see profile.py."""

from collections.abc import Callable

from llm.gpu.columns.passes import ColumnPass
from llm.gpu.columns.steps import ColumnStep, is_beside
from llm.gpu.device.rendering_device import RenderingDevice
from llm.gpu.profile import WorkTime, seconds_of

REPEATS = 32  # of a kind that is timed


def units(found: ColumnPass) -> list[list[ColumnStep]]:
    """The steps in their order, those together that run beside one another."""
    made: list[list[ColumnStep]] = []
    for number, step in enumerate(found.layers.steps):
        if is_beside(found.layers.steps, number):
            made[-1].append(step)
        else:
            made.append([step])
    return made


def time_pass(
    device: RenderingDevice, found: ColumnPass, before: Callable[[], None]
) -> list[WorkTime]:
    """Each kind alone, played as the pass plays it; `before` uploads what a run needs."""
    kinds: dict[str, list[list[ColumnStep]]] = {}
    for unit in units(found):
        kinds.setdefault(" beside ".join(step.label for step in unit), []).append(unit)
    times = []
    for label, same in kinds.items():
        steps = [step for unit in same for step in unit] * REPEATS
        buffer, rows = found.play(steps)
        seconds = seconds_of(device, rows, before)
        device.free(buffer)  # and with it the set
        times.append(WorkTime(label, len(same), seconds / (len(same) * REPEATS) * 1e6))
    return times
