"""LFM2: the feed-forward's width is computed, and layers that convolve have no key/value heads."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from llm.errors import ModelFileError
from llm.files.folder.changes import TAPS, Change
from llm.files.folder.families.family import Family, layer_types
from llm.files.metadata import Metadata


def _settings(config: Metadata) -> Mapping[str, Any]:
    n_layers = config.int("num_hidden_layers", minimum=1, maximum=1 << 16)
    attend = config.get("full_attn_idxs")
    if not isinstance(attend, list):
        attend = [n for n, kind in enumerate(layer_types(config)) if kind == "full_attention"]
    if not attend:
        raise ModelFileError(config.path, "full_attn_idxs", "names no layer")
    heads = config.int("num_key_value_heads")
    return {
        "attention.head_count_kv": np.array([heads * (n in attend) for n in range(n_layers)]),
        "feed_forward_length": _feed_forward(config),
    }


def _feed_forward(config: Metadata) -> int:
    """Source: transformers, modeling_lfm2."""
    width = config.int("intermediate_size")
    if not config.bool("block_auto_adjust_ff_dim", True):
        return width
    width = int(config.float("block_ffn_dim_multiplier", 1.0) * int(2 * width / 3))
    step = config.int("block_multiple_of", 256, minimum=1)
    return -(-width // step) * step


def _changes(_config: Metadata) -> dict[str, Change]:
    return {"shortconv.conv.weight": TAPS}


LFM2: Final = Family(
    "lfm2",
    renamed={"block_ff_dim": "intermediate_size", "norm_eps": "rms_norm_eps"},
    settings=_settings,
    changes=_changes,
)
