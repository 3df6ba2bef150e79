"""Kernels of the operations on recurrent state."""

from llm.gpu.kernels.kernel import Kernel

CONVOLVE_ROWS = 8  # of a thread
SAMPLE_TAPS = (2, 3, 4)
SAMPLE_DELTA_RULES = ((128, 32), (128, 8), (20, 8))  # head sizes and columns of a group

RECURRENT: dict[str, Kernel] = {
    "l2_norm": Kernel("l2_norm.comp", 64, {"x": "I", "stride": "I", "head_size": "I", "eps": "f"}),
    "gated_norm": Kernel(
        "gated_norm.comp",
        64,
        {
            "weight": "I",
            "x": "I",
            "gate": "I",
            "y": "I",
            "heads": "I",
            "head_size": "I",
            "eps": "f",
        },
    ),
    "slice_heads": Kernel(
        "slice_heads.comp",
        64,
        {"x": "I", "y": "I", "heads": "I", "head_size": "I", "size": "I", "first": "I"},
    ),
}


def convolve(taps: int) -> Kernel:
    """For convolutions of so many rows."""
    params = {
        "weight": "I",
        "x": "I",
        "y": "I",
        "width": "I",
        "is_gated": "I",
        "slab": "I",
        "table_quads": "I",
    }
    return Kernel("convolve.comp", 64, params, {"ROWS": CONVOLVE_ROWS, "TAPS": taps})


def delta_rule(head_size: int, columns: int) -> Kernel:
    """For heads of that size, by groups of so many columns of the state."""
    params = {
        "qkv": "I",
        "alpha": "I",
        "beta": "I",
        "y": "I",
        "decay": "I",
        "bias": "I",
        "key_heads": "I",
        "heads": "I",
        "mapping": "I",
        "slab": "I",
        "table_quads": "I",
    }
    return Kernel("delta_rule.comp", columns, params, {"HEAD_SIZE": head_size})
