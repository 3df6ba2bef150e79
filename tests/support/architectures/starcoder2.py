"""StarCoder 2: biases of everything, and no gate."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from support.tiny_decoder import FEED_FORWARD, SQUARE, SQUARE_BLOCK, WIDTH, write_tiny_decoder

EPS = {"attention.layer_norm_rms_epsilon": None, "attention.layer_norm_epsilon": 1e-5}
KEYS = SQUARE["attention.key_length"]
BIASES = {
    "attn_norm.bias": (WIDTH,),
    "attn_q.bias": (WIDTH,),
    "attn_k.bias": (KEYS,),
    "attn_v.bias": (KEYS,),
    "attn_output.bias": (WIDTH,),
    "ffn_norm.bias": (WIDTH,),
    "ffn_up.bias": (FEED_FORWARD,),
    "ffn_down.bias": (WIDTH,),
}

write = partial(
    write_tiny_decoder,
    architecture="starcoder2",
    metadata=SQUARE | EPS,
    block=SQUARE_BLOCK | BIASES,
    others={"output_norm.bias": (WIDTH,)},
)

CASES: dict[str, Callable[[Path], Path]] = {
    "plain": partial(write, without=("ffn_gate.weight",)),
    "output tied to the embedding": partial(write, without=("ffn_gate.weight", "output.weight")),
}
