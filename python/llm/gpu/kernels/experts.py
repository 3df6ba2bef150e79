"""Kernels of experts: choosing them, listing them, and products that look up their weights."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from llm.gpu.kernels.kernel import FORMAT_IDS, Kernel, Params
from llm.gpu.kernels.matrix_tiles import EXPERT_TILES, SMALL_MATRIX_TILES
from llm.gpu.operations import MAX_EXPERTS, MAX_USED

EACH_PAIR, TILES = 1, 2  # what a group takes: see product_columns.glslh

PRODUCT_OF_EXPERTS: Params = {
    "planes": "4I",
    "height": "I",
    "width": "I",
    "x": "I",
    "y": "I",
    "choice": "I",
    "used": "I",
    "inputs": "I",
    "lists": "I",
    "pairs": "I",
    "threads_per_row": "I",
}
PRODUCT_OF_EXPERTS_BY_LANES: Params = {
    "plane_x": "2I",
    "plane_y": "2I",
    "plane_z": "2I",
    "plane_w": "2I",
    "x": "2I",
    "height": "I",
    "width": "I",
    "y": "I",
    "choice": "I",
    "used": "I",
    "inputs": "I",
}

CHOOSING: dict[str, Kernel] = {
    "route": Kernel(
        "route.comp",
        64,
        {
            "logits": "I",
            "choice": "I",
            "bias": "I",
            "gains": "I",
            "experts": "I",
            "used": "I",
            "scoring": "I",
            "normalised": "I",
            "scale": "f",
        },
        {"MAX_EXPERTS": MAX_EXPERTS, "MAX_USED": MAX_USED},
    ),
    "list_experts": Kernel(
        "list_experts.comp",
        256,
        {"choice": "I", "used": "I", "experts": "I", "size": "I", "lists": "I", "pairs": "I"},
        {"MAX_EXPERTS": MAX_EXPERTS},
    ),
    "expert_bias": Kernel(
        "expert_bias.comp",
        64,
        {"bias": "I", "y": "I", "choice": "I", "used": "I", "height": "I"},
    ),
    "expert_sum": Kernel(
        "expert_sum.comp",
        64,
        {"x": "I", "choice": "I", "y": "I", "residual": "I", "used": "I", "width": "I"},
    ),
    "gated_add": Kernel(
        "gated_add.comp", 64, {"x": "I", "gate": "I", "y": "I", "residual": "I", "width": "I"}
    ),
}


def of_experts(name: str) -> str:
    """The kernel of a product, for experts."""
    return f"{name}_experts"


def products_of_experts(
    kernels: Mapping[str, Kernel], lanes_parts: Sequence[int]
) -> dict[str, Kernel]:
    """Made of the kernels that multiply all columns by the same weights."""
    made = {}
    for name, experts in _products(lanes_parts):
        by_lanes = "lanes" in name
        params = PRODUCT_OF_EXPERTS_BY_LANES if by_lanes else PRODUCT_OF_EXPERTS
        defines = {**kernels[name].defines, "EXPERTS": experts}
        made[of_experts(name)] = replace(kernels[name], params=params, defines=defines)
    return made


def _products(lanes_parts: Sequence[int]) -> Iterator[tuple[str, int]]:
    for name in FORMAT_IDS:
        yield f"matvec_{name}_1", EACH_PAIR
        yield f"matmul_rows_{name}_1", EACH_PAIR
        for parts in lanes_parts:
            yield f"matvec_lanes_{name}_{parts}_1", EACH_PAIR
        yield f"matmul_rows_{name}_8", TILES
        yield f"matmul_{name}_32", TILES
        for tile in EXPERT_TILES + SMALL_MATRIX_TILES:
            yield tile.kernel(name), TILES
