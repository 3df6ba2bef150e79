"""The tiny random models as Hugging Face folders, with the very numbers of a GGUF file."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from support import tiny_gemma, tiny_llama
from support.safetensors_builder import Tensors, stored, write_folder

from llm.files.gguf import GgufFile

Encode = Callable[[str, np.ndarray], Tensors]  # a matrix as it is stored, perhaps with scales

_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_LLAMA_NAMES = {**_NAMES, "ffn_norm": "post_attention_layernorm"}
_GEMMA_NAMES = {
    **_NAMES,
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}

LLAMA_CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "num_hidden_layers": tiny_llama.LAYERS,
    "max_position_embeddings": tiny_llama.CONTEXT,
    "hidden_size": tiny_llama.WIDTH,
    "intermediate_size": tiny_llama.FEED_FORWARD,
    "num_attention_heads": tiny_llama.HEADS,
    "num_key_value_heads": tiny_llama.KV_HEADS,
    "head_dim": tiny_llama.HEAD_SIZE,
    "rms_norm_eps": 1e-5,
    "rope_theta": 5e5,
    "rope_scaling": None,
}
GEMMA_CONFIG: dict[str, Any] = {
    "model_type": "gemma3_text",
    "num_hidden_layers": tiny_gemma.LAYERS,
    "max_position_embeddings": tiny_gemma.CONTEXT,
    "hidden_size": tiny_gemma.WIDTH,
    "intermediate_size": tiny_gemma.FEED_FORWARD,
    "num_attention_heads": tiny_gemma.HEADS,
    "num_key_value_heads": tiny_gemma.KV_HEADS,
    "head_dim": tiny_gemma.HEAD_SIZE,
    "sliding_window": tiny_gemma.WINDOW,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1e6,
    "tie_word_embeddings": True,
}


def in_type(dtype: str) -> Encode:
    """Matrices in that type."""
    return lambda name, values: {name: stored(values, dtype)}


def llama_folder(
    folder: Path,
    file: Path,
    encode: Encode,
    *,
    files: int = 1,
    config: Mapping[str, Any] | None = None,
) -> Path:
    """The tensors of a tiny Llama in F32, with rows of queries and keys as folders have them."""
    tensors: dict[str, Any] = {}
    for name, values in _values(file).items():
        if ".attn_q." in name or ".attn_k." in name:
            heads = values.reshape(-1, tiny_llama.HEAD_SIZE // 2, 2, values.shape[1])
            values = heads.swapaxes(1, 2).reshape(values.shape)
        tensors |= _encoded(name, values, _LLAMA_NAMES, encode)
    return write_folder(folder, LLAMA_CONFIG | dict(config or {}), tensors, files=files)


def gemma_folder(
    folder: Path,
    file: Path,
    encode: Encode,
    *,
    files: int = 1,
    config: Mapping[str, Any] | None = None,
) -> Path:
    """The tensors of a tiny Gemma 3 in F32, norms without the one that is added to them."""
    tensors: dict[str, Any] = {}
    for name, values in _values(file).items():
        values = values - 1 if name.endswith("norm.weight") else values
        tensors |= _encoded(name, values, _GEMMA_NAMES, encode)
    return write_folder(folder, GEMMA_CONFIG | dict(config or {}), tensors, files=files)


def _values(file: Path) -> dict[str, np.ndarray]:
    with GgufFile.open(str(file)) as opened:
        return {
            name: opened.data(name).view(np.float32).reshape(info.shape)
            for name, info in opened.tensors.items()
        }


def _encoded(
    name: str, values: np.ndarray, names: Mapping[str, str], encode: Encode
) -> dict[str, Any]:
    *block, kind, _ = name.split(".")
    place = f"model.layers.{block[1]}." if block else ""
    theirs = f"{place}{names[kind]}.weight"
    return dict(encode(theirs, values)) if values.ndim > 1 else {theirs: ("F32", values)}
