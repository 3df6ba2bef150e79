"""Qwen3: norms of queries and keys."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from support.tiny_decoder import HEAD_NORMS, write_tiny_decoder

YARN = {
    "rope.scaling.type": "yarn",
    "rope.scaling.factor": 4.0,
    "rope.scaling.original_context_length": 24,
}

write = partial(write_tiny_decoder, architecture="qwen3", block=HEAD_NORMS)

CASES: dict[str, Callable[[Path], Path]] = {
    "plain": write,
    "output tied to the embedding": partial(write, without=("output.weight",)),
    "yarn": partial(write, metadata=YARN),
}
