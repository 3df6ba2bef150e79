"""Mistral 3: a prompt longer than the original context."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from support.tiny_decoder import write_tiny_decoder

YARN = {
    "rope.scaling.type": "yarn",
    "rope.scaling.factor": 4.0,
    "rope.scaling.original_context_length": 12,
    "rope.scaling.yarn_beta_fast": 4.0,
    "rope.scaling.yarn_beta_slow": 0.5,
    "rope.scaling.yarn_log_multiplier": 1.0,
}

write = partial(write_tiny_decoder, architecture="mistral3")

CASES: dict[str, Callable[[Path], Path]] = {
    "plain": write,
    "yarn": partial(write, metadata=YARN),
    "queries that grow": partial(write, metadata=YARN | {"attention.temperature_scale": 0.4}),
}
