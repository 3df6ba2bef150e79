"""Granite: scales of everything."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from support.tiny_decoder import (
    FEED_FORWARD_BIASES,
    OUTPUT_BIAS,
    QKV_BIASES,
    write_tiny_decoder,
)

SCALES = {
    "embedding_scale": 12.0,
    "residual_scale": 0.22,
    "attention.scale": 0.3,
    "logit_scale": 0.25,
    "attention.layer_norm_rms_epsilon": 0.01,  # large, so that its scale shows
}
BIASES = QKV_BIASES | OUTPUT_BIAS | FEED_FORWARD_BIASES

write = partial(write_tiny_decoder, architecture="granite")

CASES: dict[str, Callable[[Path], Path]] = {
    "scales": partial(write, metadata=SCALES),
    "only a scale of logits": partial(write, metadata={"logit_scale": 0.25}),
    "biases of all products": partial(write, metadata=SCALES, block=BIASES),
}
