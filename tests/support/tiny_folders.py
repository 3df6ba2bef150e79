"""Model files in float32, written again as Hugging Face folders with the very same numbers."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from support.safetensors_builder import Tensors, stored, write_folder

from llm.files.gguf import GgufFile
from llm.files.metadata import Metadata

Encode = Callable[[str, np.ndarray], Tensors]  # a matrix as it is stored, perhaps with scales

_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_qkv": "self_attn.qkv_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "ffn_gate_inp": "mlp.gate",
    "ffn_gate_exps": "mlp.experts.*.gate_proj",
    "ffn_up_exps": "mlp.experts.*.up_proj",
    "ffn_down_exps": "mlp.experts.*.down_proj",
}
_SANDWICH_NAMES = {
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}
# By architecture, where folders call a tensor otherwise.
_OTHER_NAMES = {
    "gemma2": _SANDWICH_NAMES,
    "gemma3": _SANDWICH_NAMES,
    "phi3": {"ffn_up": "mlp.gate_up_proj"},
}
_TURN_NEIGHBOURS = ("granite", "llama", "smollm3")
_KEYS = {
    "block_count": "num_hidden_layers",
    "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "attention.scale": "attention_multiplier",
    "attention.sliding_window": "sliding_window",
    "attention.sliding_window_pattern": "sliding_window_pattern",
    "attn_logit_softcapping": "attn_logit_softcapping",
    "embedding_scale": "embedding_multiplier",
    "expert_count": "num_experts",
    "expert_feed_forward_length": "moe_intermediate_size",
    "expert_used_count": "num_experts_per_tok",
    "final_logit_softcapping": "final_logit_softcapping",
    "logit_scale": "logits_scaling",
    "residual_scale": "residual_multiplier",
    "rope.freq_base": "rope_theta",
    "rope.freq_base_swa": "rope_local_base_freq",
    "rope.scaling.original_context_length": "original_max_position_embeddings",
}

LLAMA_CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "num_hidden_layers": 3,
    "max_position_embeddings": 96,
    "hidden_size": 320,
    "intermediate_size": 800,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "rms_norm_eps": 1e-5,
    "rope_theta": 5e5,
    "rope_scaling": None,
}
GEMMA_CONFIG: dict[str, Any] = LLAMA_CONFIG | {"model_type": "gemma3_text", "sliding_window": 5}


def in_type(dtype: str) -> Encode:
    """Matrices in that type."""
    return lambda name, values: {name: stored(values, dtype)}


def as_folder(folder: Path, file: Path, encode: Encode, *, model_type: str, files: int = 1) -> Path:
    """The model of a GGUF file in float32 as a folder, dealt out to `files` files.

    Rows of queries and keys, and norms, are as folders of the architecture have them. Factors of
    frequencies are carried for Phi-3 only: others are made of settings that GGUF does not keep.
    """
    with GgufFile.open(str(file)) as opened:
        metadata = opened.metadata
        values = {
            name: opened.data(name).view(np.float32).reshape(info.shape)
            for name, info in opened.tensors.items()
        }
    architecture = metadata.str("general.architecture")
    names = _NAMES | _OTHER_NAMES.get(architecture, {})
    config = {"model_type": model_type} | _config(metadata, architecture, values)
    tensors: dict[str, Any] = {}
    for name, array in values.items():
        *block, kind, ending = name.split(".")
        if kind.startswith("rope_"):
            continue
        if architecture in _TURN_NEIGHBOURS and kind in ("attn_q", "attn_k"):
            heads = array.reshape(-1, config["head_dim"] // 2, 2, *array.shape[1:])
            array = np.ascontiguousarray(heads.swapaxes(1, 2)).reshape(array.shape)
        if architecture.startswith("gemma") and kind.endswith("norm"):
            array = array - 1
        place = f"model.layers.{block[1]}." if block else ""
        theirs = f"{place}{names[kind]}.{ending}"
        each = enumerate(array) if "*" in theirs else [(0, array)]  # of experts
        for number, part in each:
            own = theirs.replace("*", str(number))
            tensors |= encode(own, part) if part.ndim > 1 else {own: ("F32", part)}
    return write_folder(folder, config, tensors, files=files)


def _config(metadata: Metadata, architecture: str, values: dict[str, np.ndarray]) -> dict[str, Any]:
    keys = {key.removeprefix(f"{architecture}."): value for key, value in metadata.items()}
    config: dict[str, Any] = {_KEYS[key]: value for key, value in keys.items() if key in _KEYS}
    config.setdefault("head_dim", config["hidden_size"] // config["num_attention_heads"])
    if "rope.dimension_count" in keys:
        config["partial_rotary_factor"] = keys["rope.dimension_count"] / config["head_dim"]
    if "rope_factors_short.weight" in values:
        config["rope_scaling"] = {
            "type": "longrope",
            "short_factor": values["rope_factors_short.weight"].tolist(),
            "long_factor": values["rope_factors_long.weight"].tolist(),
            "attention_factor": keys.get("rope.scaling.attn_factor", 1.0),
        }
    elif "rope.scaling.type" in keys:
        kind, factor = keys["rope.scaling.type"], keys["rope.scaling.factor"]
        config["rope_scaling"] = {"type": kind, "factor": factor}
    return config


llama_folder = partial(as_folder, model_type="llama")
gemma_folder = partial(as_folder, model_type="gemma3_text")
