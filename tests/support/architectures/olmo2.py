"""OLMo 2 and 3: norms of all queries and of all keys; windows shorter than the prompt."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from support.tiny_decoder import SANDWICH_NORMS, SQUARE, SQUARE_BLOCK, WIDTH, write_tiny_decoder

KEYS = SQUARE["attention.key_length"]
NORMS = {"attn_q_norm.weight": (WIDTH,), "attn_k_norm.weight": (KEYS,)}
WINDOWS = {
    "attention.sliding_window": 5,
    "rope.scaling.type": "yarn",
    "rope.scaling.factor": 4.0,
    "rope.scaling.original_context_length": 24,
}
LAYERS = {"attention.sliding_window_pattern": [False, True, True, False, True]}

write = partial(
    write_tiny_decoder,
    architecture="olmo2",
    metadata=SQUARE,
    block=SQUARE_BLOCK | SANDWICH_NORMS | NORMS,
    without=("attn_norm.weight", "ffn_norm.weight"),
    layers=5,
)

CASES: dict[str, Callable[[Path], Path]] = {
    "OLMo 2": write,
    "OLMo 3": partial(write, metadata=SQUARE | WINDOWS),
    "OLMo 3, windows layer by layer": partial(write, metadata=SQUARE | WINDOWS | LAYERS),
}
