"""Tensors and keys of experts, for tiny decoders: see tests/support/tiny_decoder.py."""

from support.tiny_decoder import SQUARE_BLOCK, WIDTH

EXPERTS, USED, FEED_FORWARD = 7, 3, 96
SHARED = 64  # width of the expert that every token uses
DENSE = ("ffn_gate.weight", "ffn_up.weight", "ffn_down.weight")  # of layers without experts

SIZES = {"expert_count": EXPERTS, "expert_used_count": USED}
WITH_WIDTH = {**SIZES, "expert_feed_forward_length": FEED_FORWARD}
BLOCK: dict[str, tuple[int, ...]] = {
    "ffn_gate_inp.weight": (EXPERTS, WIDTH),
    "ffn_gate_exps.weight": (EXPERTS, FEED_FORWARD, WIDTH),
    "ffn_up_exps.weight": (EXPERTS, FEED_FORWARD, WIDTH),
    "ffn_down_exps.weight": (EXPERTS, WIDTH, FEED_FORWARD),
}
BIASES: dict[str, tuple[int, ...]] = {
    "ffn_gate_inp.bias": (EXPERTS,),
    "ffn_gate_exps.bias": (EXPERTS, FEED_FORWARD),
    "ffn_up_exps.bias": (EXPERTS, FEED_FORWARD),
    "ffn_down_exps.bias": (EXPERTS, WIDTH),
}
SHARED_BLOCK: dict[str, tuple[int, ...]] = {
    "ffn_gate_shexp.weight": (SHARED, WIDTH),
    "ffn_up_shexp.weight": (SHARED, WIDTH),
    "ffn_down_shexp.weight": (WIDTH, SHARED),
}
SQUARE_EXPERTS = SQUARE_BLOCK | BLOCK
