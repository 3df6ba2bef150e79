"""See qwen35.py."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from support.architectures.qwen35 import write_tiny_qwen35

CASES: dict[str, Callable[[Path], Path]] = {
    "experts": partial(write_tiny_qwen35, architecture="qwen35moe", experts=7),
}
