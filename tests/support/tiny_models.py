"""The tiny models on which executors that fuse operations are held to the reference."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType as Type
from support.architectures.gemma4 import DENSE, write_gemma4
from support.tiny_gemma import MIXED, write_tiny_gemma
from support.tiny_llama import MIXED as LLAMA_MIXED
from support.tiny_llama import write_tiny_k_quant_llama, write_tiny_llama

# Sums in another order flip the rounding of a float16 key or value here and there; on these random
# weights one flip moves a logit by some 1e-4 of the largest, seldom by 3e-3, in a sharp attention
# by more. A wrong scale or mask moves most of them by 1e-2 and more.
TYPICAL = 1e-3
TOLERANCE = 3e-3
SHARP = 1e-2

# Between them, all formats that the other models have not.
TABLES_AND_FLOATS = {
    "token_embd": Type.IQ4_NL,
    "attn_q": Type.Q4_0,
    "attn_k": Type.Q4_1,
    "attn_v": Type.Q5_1,
    "attn_output": Type.BF16,
    "ffn_gate": Type.NVFP4,
    "ffn_up": Type.NVFP4,
    "ffn_down": Type.MXFP4,
}
LARGE_BLOCKS = {
    "token_embd": Type.Q2_K,
    "output": Type.Q5_K,
    "attn_q": Type.Q3_K,
    "attn_k": Type.IQ4_XS,
    "attn_v": Type.TQ1_0,
    "attn_output": Type.TQ2_0,
    "ffn_gate": Type.Q3_K,
    "ffn_up": Type.Q3_K,
    "ffn_down": Type.Q5_K,
}
GRIDS = {
    "token_embd": Type.IQ3_S,
    "output": Type.IQ2_S,
    "attn_q": Type.IQ2_XXS,
    "attn_k": Type.IQ2_XS,
    "attn_v": Type.IQ2_S,
    "attn_output": Type.IQ1_S,
    "ffn_gate": Type.IQ3_XXS,
    "ffn_up": Type.IQ3_XXS,
    "ffn_down": Type.IQ1_M,
}

GEMMA4_MIXED = {
    "token_embd": Type.Q8_0,
    "per_layer_token_embd": Type.Q5_0,
    "per_layer_model_proj": Type.F16,
    "attn_q": Type.Q5_0,
    "attn_k": Type.Q8_0,
    "attn_v": Type.F16,
    "ffn_gate": Type.Q8_0,
    "ffn_up": Type.Q8_0,
    "ffn_down": Type.Q5_0,
    "inp_gate": Type.Q8_0,
}

TINY_MODELS: dict[str, Callable[[Path], Path]] = {
    "gemma, gate and up in formats of their own": write_tiny_gemma,
    "gemma, gate and up in one format": partial(
        write_tiny_gemma, formats={**MIXED, "ffn_gate": Type.Q4_K, "ffn_up": Type.Q4_K}
    ),
    "gemma, an input of 13 blocks": partial(
        write_tiny_gemma, formats={**MIXED, "ffn_down": Type.Q8_0}, feed_forward=416
    ),
    "llama, gate and up in formats of their own": write_tiny_llama,
    "llama, Q4_K_M": write_tiny_k_quant_llama,
    "llama, long rows of Q4_K": partial(
        write_tiny_llama,
        width=512,
        formats={**LLAMA_MIXED, "ffn_gate": Type.Q4_K, "ffn_up": Type.Q4_K},
    ),
    "llama, part of a head rotated": partial(
        write_tiny_llama, metadata={"llama.rope.dimension_count": 40}
    ),
    "gemma, tables": partial(write_tiny_gemma, formats=TABLES_AND_FLOATS),
    "llama, large blocks": partial(
        write_tiny_llama, width=512, feed_forward=768, formats=LARGE_BLOCKS
    ),
    "llama, grids": partial(write_tiny_llama, width=512, feed_forward=768, formats=GRIDS),
}

# What runs as steps, but not as columns.
STEP_MODELS: dict[str, Callable[[Path], Path]] = {
    **TINY_MODELS,
    "gemma 4, per-layer embeddings": partial(write_gemma4, formats=GEMMA4_MIXED),
    "gemma 4, values made of keys": partial(write_gemma4, sizes=DENSE),
    "llama, an input longer than shared memory": partial(write_tiny_llama, feed_forward=14592),
    "gemma, an input longer than shared memory": partial(
        write_tiny_gemma,
        feed_forward=14592,
        formats={**MIXED, "ffn_gate": Type.Q4_K, "ffn_up": Type.Q8_0},
    ),
}


def error(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, as a part of the largest logit."""
    return float(np.abs(found - expected).max() / np.abs(expected).max())
