"""gpt-oss: biases everywhere, windows by turns, sinks, clamped experts."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from support.tiny_decoder import HEADS, OUTPUT_BIAS, QKV_BIASES, WIDTH, write_tiny_decoder
from support.tiny_experts import BIASES, BLOCK, DENSE, WITH_WIDTH

LAYERS = 4
METADATA = {**WITH_WIDTH, "attention.sliding_window": 7, "rope.freq_base": 1.5e5}
YARN = {
    "rope.scaling.type": "yarn",
    "rope.scaling.factor": 8.0,
    "rope.scaling.original_context_length": 24,
}
# Large enough to take a part of the softmax, and different for each head.
SINKS = {
    f"blk.{layer}.attn_sinks.weight": np.linspace(-1.0, 3.0, HEADS) + layer
    for layer in range(LAYERS)
}


def write(path: Path, metadata: Mapping[str, Any] | None = None) -> Path:
    return write_tiny_decoder(
        path,
        "gpt-oss",
        layers=LAYERS,
        metadata={**METADATA, **(metadata or {})},
        block={
            **QKV_BIASES,
            **OUTPUT_BIAS,
            "attn_sinks.weight": (HEADS,),
            "post_attention_norm.weight": (WIDTH,),
            **BLOCK,
            **BIASES,
        },
        without=("ffn_norm.weight", *DENSE),
        replaced=SINKS,
    )


CASES: dict[str, Callable[[Path], Path]] = {
    "plain positions": write,
    "yarn": partial(write, metadata=YARN),
}
