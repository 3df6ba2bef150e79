"""Granite with experts: scales, with and without an expert that every token uses."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from support.tiny_decoder import write_tiny_decoder
from support.tiny_experts import BLOCK, DENSE, FEED_FORWARD, SHARED, SHARED_BLOCK, SIZES

METADATA = {
    **SIZES,
    "feed_forward_length": FEED_FORWARD,
    "embedding_scale": 12.0,
    "residual_scale": 0.22,
    "attention.scale": 0.05,
    "logit_scale": 0.3,
    "attention.layer_norm_rms_epsilon": 0.02,  # so large that a wrong one shows
}

CASES: dict[str, Callable[[Path], Path]] = {
    "scales": partial(
        write_tiny_decoder,
        architecture="granitemoe",
        metadata=METADATA,
        block=BLOCK,
        without=DENSE,
    ),
    "an expert that all use": partial(
        write_tiny_decoder,
        architecture="granitemoe",
        metadata={**METADATA, "expert_shared_feed_forward_length": SHARED},
        block=BLOCK | SHARED_BLOCK,
        without=DENSE,
    ),
}
