"""See qwen35.py."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from support.architectures.qwen35 import write_tiny_qwen35

CASES: dict[str, Callable[[Path], Path]] = {
    "experts": partial(write_tiny_qwen35, architecture="qwen3next", experts=7, has_pairs=True),
    "a value head to a key head": partial(
        write_tiny_qwen35,
        architecture="qwen3next",
        experts=5,
        has_pairs=True,
        value_heads=8,
        key_heads=8,
        state_size=20,
    ),
}
