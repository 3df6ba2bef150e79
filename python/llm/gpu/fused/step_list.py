"""Steps on the device."""

from dataclasses import dataclass
from typing import Any

from llm.gpu.steps.tags import NO_PLACES, Places


@dataclass(frozen=True, slots=True)
class StepList:
    buffer: Any
    uniform_set: Any  # for the kernel, with this buffer
    count: int
    places: Places = NO_PLACES  # of values with tags
