"""Gemma 4 models of a few hundred thousand weights, random but fixed.

Windows are shorter than prompts, widths divide no tile, and layers have heads of two sizes. The one
has per-layer embeddings and layers that read another's cells; the others none of these, but several
numbers of key/value heads, and layers whose values are made of their keys. The last ones have
experts, whose gates and ups are one tensor or two.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType as Type
from support.random_model import VOCABULARY, write_random_model

WIDTH = 160
HEADS = 6
SIZES = {True: 64, False: 128}  # of heads, by whether a window slides
WINDOW = 5
CONTEXT = 96
LAYER_WIDTH = 32

SHARING = {
    "slides": (True, True, False, True, True, False, True, False, True),
    "shared": 3,
    "kv_heads": (1,) * 9,
    "feed_forward": (224,) * 6 + (416,) * 3,
    "layer_width": LAYER_WIDTH,
    "experts": 0,
}
DENSE = {
    "slides": (True, True, False, True, False),
    "shared": 0,
    "kv_heads": (3, 3, 2, 3, 2),
    "feed_forward": (288,) * 5,
    "layer_width": 0,
    "experts": 0,
}
EXPERTS = DENSE | {"experts": 7}
USED, EXPERT_WIDTH = 3, 96


def write_gemma4(
    path: Path,
    sizes: Mapping[str, Any] = SHARING,
    *,
    formats: Mapping[str, Type] | None = None,
    metadata: Mapping[str, Any] | None = None,
    has_pairs: bool = True,
    without: tuple[str, ...] = (),
    replaced: Mapping[str, np.ndarray] | None = None,
) -> Path:
    """Writes the model; `metadata`, `without` and `replaced` as for any random model.

    Where it `has_pairs`, gates and ups of experts are one tensor.
    """
    keys: dict[str, Any] = {
        "gemma4.block_count": len(sizes["slides"]),
        "gemma4.context_length": CONTEXT,
        "gemma4.embedding_length": WIDTH,
        "gemma4.feed_forward_length": list(sizes["feed_forward"]),
        "gemma4.embedding_length_per_layer_input": sizes["layer_width"],
        "gemma4.attention.head_count": HEADS,
        "gemma4.attention.head_count_kv": list(sizes["kv_heads"]),
        "gemma4.attention.layer_norm_rms_epsilon": 1e-6,
        "gemma4.attention.sliding_window": WINDOW,
        "gemma4.attention.sliding_window_pattern": list(sizes["slides"]),
        "gemma4.attention.shared_kv_layers": sizes["shared"],
        "gemma4.rope.freq_base": 1e6,
        "gemma4.rope.freq_base_swa": 1e4,
        "gemma4.final_logit_softcapping": 3.0,  # so low that it matters here
    }
    for slides, size in SIZES.items():
        kind = "_swa" if slides else ""
        for name in ("attention.key_length", "attention.value_length", "rope.dimension_count"):
            keys[f"gemma4.{name}{kind}"] = size
    if sizes["experts"]:
        keys["gemma4.expert_count"] = sizes["experts"]
        keys["gemma4.expert_used_count"] = USED
        keys["gemma4.expert_feed_forward_length"] = EXPERT_WIDTH
    shapes = _shapes(sizes, has_pairs)
    given = dict.fromkeys((name.split(".")[-2] for name in shapes), Type.F32) | (formats or {})
    turned = np.ones(SIZES[False] // 2)
    turned[SIZES[False] // 8 :] = 1e30
    source = np.random.default_rng(11)
    others = {"rope_freqs.weight": turned}
    for name, shape in shapes.items():
        if name.endswith("attn_q_norm.weight"):  # or all would attend to a single cell
            others[name] = source.uniform(0.1, 0.25, shape)
        if name.endswith("ffn_gate_inp.scale"):  # or experts would be nearly alike
            others[name] = source.uniform(10.0, 20.0, shape)
    return write_random_model(
        path,
        "gemma4",
        keys | (metadata or {}),
        shapes,
        given,
        without=without,
        replaced=others | (replaced or {}),
    )


def _shapes(sizes: Mapping[str, Any], has_pairs: bool) -> dict[str, tuple[int, ...]]:
    own, count = sizes["layer_width"], len(sizes["slides"])
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (VOCABULARY, WIDTH),
        "output_norm.weight": (WIDTH,),
    }
    if own:
        shapes["per_layer_token_embd.weight"] = (VOCABULARY, own * count)
        shapes["per_layer_model_proj.weight"] = (own * count, WIDTH)
        shapes["per_layer_proj_norm.weight"] = (own,)
    for layer, slides in enumerate(sizes["slides"]):
        size, hidden = SIZES[slides], sizes["feed_forward"][layer]
        keys = size * sizes["kv_heads"][layer]
        block: dict[str, tuple[int, ...]] = {
            "attn_norm": (WIDTH,),
            "attn_q": (HEADS * size, WIDTH),
            "attn_q_norm": (size,),
            "attn_output": (WIDTH, HEADS * size),
            "post_attention_norm": (WIDTH,),
            "ffn_norm": (WIDTH,),
            "ffn_gate": (hidden, WIDTH),
            "ffn_up": (hidden, WIDTH),
            "ffn_down": (WIDTH, hidden),
            "post_ffw_norm": (WIDTH,),
            "layer_output_scale": (1,),
        }
        if layer < count - sizes["shared"]:
            block |= {"attn_k": (keys, WIDTH), "attn_k_norm": (size,)}
            if own or slides:
                block["attn_v"] = (keys, WIDTH)
        if own:
            block |= {"inp_gate": (own, WIDTH), "proj": (WIDTH, own), "post_norm": (WIDTH,)}
        prefix = f"blk.{layer}."
        shapes |= {f"{prefix}{name}.weight": shape for name, shape in block.items()}
        if sizes["experts"]:
            shapes |= _shapes_of_experts(prefix, sizes["experts"], has_pairs)
    return shapes


def _shapes_of_experts(prefix: str, count: int, has_pairs: bool) -> dict[str, tuple[int, ...]]:
    inner = (count, EXPERT_WIDTH, WIDTH)
    gates: dict[str, tuple[int, ...]] = (
        {"ffn_gate_up_exps.weight": (count, 2 * EXPERT_WIDTH, WIDTH)}
        if has_pairs
        else {"ffn_gate_exps.weight": inner, "ffn_up_exps.weight": inner}
    )
    others: dict[str, tuple[int, ...]] = {
        "ffn_gate_inp.weight": (count, WIDTH),
        "ffn_gate_inp.scale": (WIDTH,),
        "ffn_down_exps.weight": (count, WIDTH, EXPERT_WIDTH),
        "ffn_down_exps.scale": (count,),
        "pre_ffw_norm_2.weight": (WIDTH,),
        "post_ffw_norm_1.weight": (WIDTH,),
        "post_ffw_norm_2.weight": (WIDTH,),
    }
    return {prefix + name: shape for name, shape in (gates | others).items()}


CASES: dict[str, Callable[[Path], Path]] = {
    "per-layer embeddings, shared keys and values": write_gemma4,
    "values made of keys, no per-layer embeddings": partial(write_gemma4, sizes=DENSE),
    "experts": partial(write_gemma4, sizes=EXPERTS),
    "experts, gates and ups apart": partial(write_gemma4, sizes=EXPERTS, has_pairs=False),
}
