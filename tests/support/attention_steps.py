"""Attention steps of any sizes, whose tensors lie anywhere."""

from llm.files.formats import FORMATS
from llm.gpu.operations import CacheSlab, Pairing, Tensor, Weight
from llm.gpu.steps.attention import Attention

F32 = FORMATS[0]


def an_attention(
    heads: int = 6,
    kv_heads: int = 2,
    head_size: int = 64,
    *,
    pairing: Pairing = Pairing.HALVES,
    norm: Weight | None = None,
    window: int = 0,
) -> Attention:
    widths = [count * head_size for count in (heads, kv_heads, kv_heads, heads)]
    return Attention(
        *(Tensor(0, 1, width) for width in widths),
        q_norm=norm,
        k_norm=norm,
        table=Weight("table", F32, 20, 2),
        pairing=pairing,
        eps=1e-5,
        scale=0.125,
        cache=CacheSlab(64, 4096, kv_heads * head_size),
        kv_heads=kv_heads,
        window=window,
        partials=Tensor(9000, 1, 32 * heads * (head_size + 4)),
        n_parts=32,
    )
