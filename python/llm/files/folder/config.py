"""config.json, as the metadata that a GGUF file of the model would hold."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from llm.errors import ModelFileError, UnsupportedModelError
from llm.files.folder.rope import Floats, Rope
from llm.files.metadata import Metadata

# `model_type` -> `general.architecture`, where a folder is read as such a file. Others keep their
# own name, so that it can be said what they are.
ARCHITECTURES: Final = {
    "gemma": "gemma",
    "gemma2": "gemma2",
    "gemma3": "gemma3",
    "gemma3_text": "gemma3",
    "granite": "granite",
    "llama": "llama",
    "mistral": "llama",
    "mixtral": "llama",
    "phi3": "phi3",
    "qwen2": "qwen2",
    "qwen3": "qwen3",
    "qwen3_moe": "qwen3moe",
    "smollm3": "smollm3",
}
_SIZES: Final = {
    "vocab_size": "vocab_size",
    "max_position_embeddings": "context_length",
    "num_hidden_layers": "block_count",
    "hidden_size": "embedding_length",
    "intermediate_size": "feed_forward_length",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "sliding_window_pattern": "attention.sliding_window_pattern",
    "_sliding_window_pattern": "attention.sliding_window_pattern",
    "num_experts": "expert_count",
    "num_local_experts": "expert_count",
    "num_experts_per_tok": "expert_used_count",
    "moe_intermediate_size": "expert_feed_forward_length",
}
_NUMBERS: Final = {
    "rms_norm_eps": "attention.layer_norm_rms_epsilon",
    "attn_logit_softcapping": "attn_logit_softcapping",
    "final_logit_softcapping": "final_logit_softcapping",
    "rope_local_base_freq": "rope.freq_base_swa",
    "embedding_multiplier": "embedding_scale",
    "attention_multiplier": "attention.scale",
    "residual_multiplier": "residual_scale",
    "logits_scaling": "logit_scale",
}
_NEEDED: Final = ("num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads")
# What files leave out, by `model_type`. Source: transformers, the models' configuration classes.
_USUAL: Final[dict[str, dict[str, Any]]] = {
    "gemma3_text": {
        "head_dim": 256,
        "max_position_embeddings": 131_072,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "rms_norm_eps": 1e-6,
        "rope_theta": 1e6,
    },
}
_FLOAT8: Final = ("compressed-tensors", "fbgemm_fp8", "fp8", "modelopt")
_BLOCK: Final = [128, 128]
_LARGEST_HEAD: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Config:
    metadata: dict[str, Any]
    made: dict[str, Floats]  # vectors that GGUF holds and folders compute
    is_tied: bool  # the output is the embedding
    block: tuple[int, int]  # of 8-bit floats that share a scale: rows and columns
    token_ids: dict[str, int]  # "bos", "eos", "pad", where the file names one

    @classmethod
    def read(cls, path: str, found: Mapping[str, Any]) -> "Config":
        """`found` is what config.json at `path` holds. ModelFileError, UnsupportedModelError."""
        _refuse_quantisation(path, found)
        text = found.get("text_config")  # of models of several senses
        inner = text if isinstance(text, dict) else {}
        # What is null is not given.
        merged = {key: value for key, value in {**found, **inner}.items() if value is not None}
        model_type = Metadata(merged, path).str("model_type")
        config = Metadata(_USUAL.get(model_type, {}) | merged, path)
        architecture = ARCHITECTURES.get(model_type, model_type)
        is_known = model_type in ARCHITECTURES
        for key in _NEEDED if is_known else ():
            config.int(key, minimum=1)
        values = _sizes(config)
        made: dict[str, Floats] = {}
        if is_known:
            heads = config.int("num_attention_heads")
            head_size = config.int("head_dim", config.int("hidden_size") // heads)
            if head_size > _LARGEST_HEAD:
                problem = f"is {head_size:,}, but may be {_LARGEST_HEAD:,} at most"
                raise ModelFileError(path, "head_dim", problem)
            values |= {"attention.key_length": head_size, "attention.value_length": head_size}
            rope = Rope.read(config)
            values |= rope.values(head_size)
            made = rope.vectors(head_size)
        metadata: dict[str, Any] = {f"{architecture}.{key}": value for key, value in values.items()}
        metadata["general.architecture"] = architecture
        metadata["general.name"] = os.path.basename(os.path.dirname(os.path.abspath(path)))
        return cls(
            metadata,
            made,
            config.bool("tie_word_embeddings", False),
            _block(path, found),
            _token_ids(config),
        )


def _sizes(config: Metadata) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, name in _SIZES.items():
        if _is_by_layer(config.get(key)):
            values[name] = np.array(config[key], np.int64)
        elif key in config:
            values[name] = config.int(key)
    for key, name in _NUMBERS.items():
        if key in config:
            values[name] = config.float(key)
    if "sliding_window" in config and config.bool("use_sliding_window", True):
        values["attention.sliding_window"] = config.int("sliding_window")
    period = _period(config.get("layer_types"))
    if period:
        values.setdefault("attention.sliding_window_pattern", period)
    return values


def _is_by_layer(value: Any) -> bool:
    if not isinstance(value, list):
        return False
    return all(type(size) is int and 0 <= size < 2**31 for size in value)


def _period(kinds: Any) -> int:
    """Every so many layers one sees everything; 0 where that is not so."""
    if not isinstance(kinds, list) or "full_attention" not in kinds:
        return 0
    period = kinds.index("full_attention") + 1
    regular = all(
        (kind == "full_attention") == (layer % period == period - 1)
        for layer, kind in enumerate(kinds)
    )
    return period if regular and period > 1 else 0


def _refuse_quantisation(path: str, found: Mapping[str, Any]) -> None:
    method = _quantisation(found).get("quant_method", "fp8")
    if method not in _FLOAT8:
        key = "quantization_config.quant_method"
        raise UnsupportedModelError(path, key, method, [*_FLOAT8, "folders without it"])


def _block(path: str, found: Mapping[str, Any]) -> tuple[int, int]:
    block = _quantisation(found).get("weight_block_size") or _BLOCK
    key = "quantization_config.weight_block_size"
    is_pair = isinstance(block, list) and len(block) == 2
    if not is_pair or not all(type(side) is int and 0 < side <= 1 << 16 for side in block):
        raise ModelFileError(path, key, "is not two whole numbers from 1 to 65,536")
    return block[0], block[1]


def _quantisation(found: Mapping[str, Any]) -> Mapping[str, Any]:
    value = found.get("quantization_config")
    return value if isinstance(value, dict) else {}


def _token_ids(config: Metadata) -> dict[str, int]:
    """Of several ends of a text the first."""
    ids = {role: config.get(f"{role}_token_id") for role in ("bos", "eos", "pad")}
    firsts = {role: id[0] if isinstance(id, list) and id else id for role, id in ids.items()}
    return {role: id for role, id in firsts.items() if type(id) is int and id >= 0}
