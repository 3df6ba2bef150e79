"""Gemma 4: layers of two kinds, with heads of another size each."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from llm.errors import ModelFileError
from llm.files.folder.families.family import Family, layer_types
from llm.files.metadata import Metadata

_USUAL: Final = {"head_dim": 256, "global_head_dim": 512, "rms_norm_eps": 1e-6}


def _settings(config: Metadata) -> Mapping[str, Any]:
    kinds = layer_types(config)
    n_layers = config.int("num_hidden_layers", minimum=1)
    if len(kinds) != n_layers:
        problem = f"names {len(kinds):,} kinds, but there are {n_layers:,} layers"
        raise ModelFileError(config.path, "layer_types", problem)
    slides = [kind == "sliding_attention" for kind in kinds]
    heads = config.int("num_key_value_heads")
    has_others = config.bool("attention_k_eq_v", False)
    of_all = config.int("num_global_key_value_heads", heads) if has_others else heads
    shared = config.int("num_kv_shared_layers", 0, maximum=n_layers)
    feed_forward = config.int("intermediate_size")
    wide = 2 if config.bool("use_double_wide_mlp", False) else 1
    sizes = [feed_forward] * (n_layers - shared) + [feed_forward * wide] * shared
    of_windows = config.int("head_dim")
    return {
        "attention.sliding_window_pattern": np.array(slides),
        "attention.head_count_kv": np.array([heads if here else of_all for here in slides]),
        "attention.key_length_swa": of_windows,
        "attention.value_length_swa": of_windows,
        "feed_forward_length": np.array(sizes),
    }


GEMMA4: Final = Family("gemma4", usual=_USUAL, settings=_settings)
