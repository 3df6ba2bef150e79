"""The settings of config.json that have a key in GGUF each."""

from typing import Any, Final

import numpy as np

from llm.files.folder.families.family import layer_types
from llm.files.metadata import Metadata

_SIZES: Final = {
    "vocab_size": "vocab_size",
    "max_position_embeddings": "context_length",
    "num_hidden_layers": "block_count",
    "hidden_size": "embedding_length",
    "intermediate_size": "feed_forward_length",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "num_kv_shared_layers": "attention.shared_kv_layers",
    "num_experts": "expert_count",
    "num_local_experts": "expert_count",
    "num_experts_per_tok": "expert_used_count",
    "moe_intermediate_size": "expert_feed_forward_length",
    "shared_expert_intermediate_size": "expert_shared_feed_forward_length",
    "shared_intermediate_size": "expert_shared_feed_forward_length",
    "hidden_size_per_layer_input": "embedding_length_per_layer_input",
    "altup_active_idx": "altup.active_idx",
    "altup_num_inputs": "altup.num_inputs",
    "conv_L_cache": "shortconv.l_cache",
}
_NUMBERS: Final = {
    "rms_norm_eps": "attention.layer_norm_rms_epsilon",
    "layer_norm_eps": "attention.layer_norm_epsilon",
    "layer_norm_epsilon": "attention.layer_norm_epsilon",
    "norm_epsilon": "attention.layer_norm_epsilon",
    "attn_logit_softcapping": "attn_logit_softcapping",
    "final_logit_softcapping": "final_logit_softcapping",
    "rope_local_base_freq": "rope.freq_base_swa",
    "embedding_multiplier": "embedding_scale",
    "attention_multiplier": "attention.scale",
    "residual_multiplier": "residual_scale",
    "logits_scaling": "logit_scale",
    "logit_scale": "logit_scale",
}


def sizes(config: Metadata, head_size: int) -> dict[str, Any]:
    """By GGUF's keys without the architecture. Raises ModelFileError."""
    values: dict[str, Any] = {}
    for key, name in _SIZES.items():
        if is_by_layer(config.get(key)):
            values[name] = np.array(config[key], np.int64)
        elif key in config:
            values[name] = config.int(key)
    for key, name in _NUMBERS.items():
        if key in config:
            values[name] = config.float(key)
    values |= {"attention.key_length": head_size, "attention.value_length": head_size}
    if "sliding_window" in config and config.bool("use_sliding_window", True):
        values["attention.sliding_window"] = config.int("sliding_window")
    pattern = _pattern(config)
    if pattern is not None:
        values["attention.sliding_window_pattern"] = pattern
    return values


def is_by_layer(value: Any) -> bool:
    """Whether a setting is a size for each layer."""
    if not isinstance(value, list):
        return False
    return all(type(size) is int and 0 <= size < 2**31 for size in value)


def _pattern(config: Metadata) -> int | np.ndarray | None:
    """Every so many layers one sees everything, or of each layer whether it does not."""
    kinds = layer_types(config)
    if "sliding_attention" in kinds:
        slides = np.array([kind == "sliding_attention" for kind in kinds])
        period = int(np.argmin(slides)) + 1
        regular = slides == (np.arange(len(slides)) % period != period - 1)
        return period if period > 1 and regular.all() else slides
    for key in ("sliding_window_pattern", "_sliding_window_pattern"):
        if type(config.get(key)) is int:
            return config.int(key, minimum=1)
    return None
