"""Kernels of the operations on recurrent state."""

from llm.gpu.kernels.kernel import Kernel
from llm.gpu.operations import DELTA_CHUNK

CONVOLVE_ROWS = 8  # of a thread

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


def convolve(taps: int) -> tuple[str, Kernel]:
    """For convolutions of so many rows; its name before it, here and below."""
    params = {
        "weight": "I",
        "x": "I",
        "y": "I",
        "width": "I",
        "is_gated": "I",
        "slab": "I",
        "table_quads": "I",
    }
    defines = {"ROWS": CONVOLVE_ROWS, "TAPS": taps}
    return f"convolve_{taps}", Kernel("convolve.comp", 64, params, defines)


def delta_rule(head_size: int, columns: int) -> tuple[str, Kernel]:
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
    name = f"delta_rule_{head_size}_{columns}"
    return name, Kernel("delta_rule.comp", columns, params, {"HEAD_SIZE": head_size})


def delta_pairs(head_size: int, group_size: int) -> tuple[str, Kernel]:
    """For heads of that size, in groups of so many threads."""
    params = {
        "qkv": "I",
        "alpha": "I",
        "beta": "I",
        "pairs": "I",
        "decay": "I",
        "bias": "I",
        "key_heads": "I",
        "heads": "I",
        "mapping": "I",
    }
    defines = {"CHUNK": DELTA_CHUNK, "HEAD_SIZE": head_size}
    name = f"delta_pairs_{head_size}_{group_size}"
    return name, Kernel("delta_pairs.comp", group_size, params, defines)


def delta_chunks(
    head_size: int, columns: int, each: int, parts: int, *, is_staged: bool
) -> tuple[str, Kernel]:
    """For heads of that size, by groups of so many columns of the state: `each` for a thread, and
    `parts` threads for each."""
    params = {
        "qkv": "I",
        "pairs": "I",
        "y": "I",
        "key_heads": "I",
        "heads": "I",
        "mapping": "I",
        "slab": "I",
        "table_quads": "I",
    }
    defines = {
        "CHUNK": DELTA_CHUNK,
        "HEAD_SIZE": head_size,
        "COLUMNS": columns,
        "EACH": each,
        "PARTS": parts,
        "IS_STAGED": int(is_staged),
    }
    name = f"delta_chunks_{head_size}_{columns}_{each}_{parts}_{int(is_staged)}"
    return name, Kernel("delta_chunks.comp", columns // each * parts, params, defines)


SAMPLE_RECURRENT = dict(
    [
        *(convolve(taps) for taps in (2, 3, 4)),
        *(delta_rule(size, columns) for size, columns in ((128, 32), (128, 8), (20, 8))),
        *(delta_pairs(size, threads) for size, threads in ((128, 64), (128, 16), (20, 16))),
        delta_chunks(128, 16, 1, 4, is_staged=True),
        delta_chunks(128, 32, 2, 1, is_staged=False),
        delta_chunks(20, 32, 2, 1, is_staged=False),
    ]
)
