"""Every kernel variant that the engine may ask for, and how its parameters are packed.

Tests compile all of them and hold each `params` against the Params block of the GLSL. What a kernel
computes stands in its header in shaders/; which kernel to launch, and how wide, in launches.py.
"""

import struct
from itertools import product

from llm.gpu.kernels.addresses import ADDRESSES
from llm.gpu.kernels.attend_tiles import SAMPLE_TILES, AttendTile
from llm.gpu.kernels.experts import CHOOSING, products_of_experts
from llm.gpu.kernels.kernel import FORMAT_IDS, Kernel, Params
from llm.gpu.kernels.matrix_tiles import FEW_TILES, MATRIX_TILES, SMALL_MATRIX_TILES
from llm.gpu.kernels.recurrent import RECURRENT, SAMPLE_RECURRENT
from llm.gpu.kernels.resident import SAMPLE_RESIDENT
from llm.gpu.kernels.streams import STREAM_KERNELS

PRODUCT: Params = {
    "planes": "4I",
    "height": "I",
    "width": "I",
    "x": "I",
    "y": "I",
    "residual": "I",
    "count_at": "I",
    "threads_per_row": "I",
}
PRODUCT_BY_LANES: Params = {
    **ADDRESSES,
    "x": "2I",
    "height": "I",
    "width": "I",
    "y": "I",
    "residual": "I",
    "count_at": "I",
}
ATTEND: Params = {
    "q": "I",
    "q_stride": "I",
    "y": "I",
    "y_stride": "I",
    "k_cache": "I",
    "v_cache": "I",
    "heads": "I",
    "kv_heads": "I",
    "head_size": "I",
    "window": "I",
    "ahead": "I",
    "step": "I",
    "soft_cap": "f",
    "alibi": "f",
    "sinks": "I",
}
ATTEND_TILE: Params = {
    "q": "I",
    "q_stride": "I",
    "y": "I",
    "y_stride": "I",
    "k_cache": "I",
    "v_cache": "I",
    "heads": "I",
    "kv_heads": "I",
    "window": "I",
    "ahead": "I",
    "partials": "I",
    "step": "I",
    "soft_cap": "f",
    "alibi": "f",
    "sinks": "I",
}
ATTEND_LANES: Params = {
    "q": "2I",
    "cache_at": "2I",
    "q_stride": "I",
    "y": "I",
    "y_stride": "I",
    "k_cache": "I",
    "v_cache": "I",
    "heads": "I",
    "kv_heads": "I",
    "window": "I",
    "soft_cap": "f",
}
SEARCH_OUTPUT: Params = {"out_values": "I", "out_ids": "I"}

MATVEC_COLUMNS = (1, 8)
MATMUL_TILE_ROWS = 64
MATMUL_TILE_COLUMNS = (32, 64)
MATMUL_ROWS_COLUMNS = (1, 8, 16)
MATMUL_ROWS_ROWS = 4  # rows of weights for each thread
LANES = 8  # of a subgroup, and rows of weights for it: lanes.glslh
LANES_ROWS = {1: 8, 2: 4, 4: 4}  # of a group, by its columns
LANES_PARTS = (1, 2, 4)  # of a row, decoded at once
TOP_K_CHUNK = 1024


def _halve(source: int) -> Kernel:
    params = {
        "width": "I",
        "x": "I",
        "y": "I",
        "count_at": "I",
        "up": "I",
        "activation": "I",
        "norm": "I",
        "eps": "f",
        "each": "I",
    }
    return Kernel("halve_rows.comp", 256, params, {"SOURCE": source})


def _attend(group_size: int, columns: int, cells: int, pairs: int) -> Kernel:
    defines = {"COLUMNS": columns, "CELLS": cells, "PAIRS": pairs}
    return Kernel("attend.comp", group_size, ATTEND, defines)


def _embed(format_name: str, **defines: int) -> Kernel:
    params = {**ADDRESSES, "width": "I", "y": "I", "scale": "f"}
    return Kernel("embed.comp", 64, params, {"FORMAT": format_name, **defines})


KERNELS: dict[str, Kernel] = {
    "rms_norm": Kernel(
        "rms_norm.comp",
        128,
        {
            "norm": "I",
            "width": "I",
            "stride": "I",
            "x": "I",
            "y": "I",
            "residual": "I",
            "eps": "f",
            "scale": "f",
            "count_at": "I",
        },
    ),
    "rotate": Kernel(
        "rotate.comp",
        64,
        {
            "norm": "I",
            "table": "I",
            "heads": "I",
            "head_size": "I",
            "turned": "I",
            "pairing": "I",
            "x": "I",
            "stride": "I",
            "eps": "f",
            "scale": "f",
            "magnitude": "f",
            "temperature_rate": "f",
            "temperature_length": "I",
        },
    ),
    "layer_norm": Kernel(
        "layer_norm.comp",
        128,
        {
            "weight_at": "I",
            "bias": "I",
            "width": "I",
            "x": "I",
            "y": "I",
            "eps": "f",
            "count_at": "I",
        },
    ),
    "add_bias": Kernel("add_bias.comp", 64, {"bias": "I", "x": "I", "width": "I", "count_at": "I"}),
    "add_positions": Kernel("add_positions.comp", 64, {"table": "I", "x": "I", "width": "I"}),
    "activate": Kernel("activate.comp", 64, {"x": "I", "width": "I", "activation": "I"}),
    "scale_logits": Kernel(
        "scale_logits.comp", 64, {"x": "I", "width": "I", "scale": "f", "soft_cap": "f"}
    ),
    "cache_store": Kernel(
        "cache_store.comp",
        64,
        {"k": "I", "v": "I", "stride": "I", "width": "I", "k_cache": "I", "v_cache": "I"},
    ),
    "attend_rows_2": _attend(32, 2, cells=4, pairs=4),
    "attend_rows_16": _attend(32, 16, cells=4, pairs=4),
    "attend_merge": Kernel(
        "attend_merge.comp",
        64,
        {
            "partials": "I",
            "y": "I",
            "y_stride": "I",
            "heads": "I",
            "kv_heads": "I",
            "head_size": "I",
            "queries": "I",
            "n_parts": "I",
            "step": "I",
            "sinks": "I",
        },
    ),
    "gated_unit": Kernel(
        "gated_unit.comp",
        64,
        {"gate": "I", "up": "I", "y": "I", "width": "I", "up_stride": "I", "activation": "I"},
    ),
    **STREAM_KERNELS,
    "select_rows": Kernel("select_rows.comp", 64, {"x": "I", "y": "I", "width": "I"}),
    "adjust": Kernel("adjust.comp", 64, {"x": "I", "vocabulary": "I"}),
    "draw": Kernel("draw.comp", 64, {"k": "I", "drawn": "I", "advances": "I"}),
    "mask": Kernel("mask.comp", 64, {"x": "I", "vocabulary": "I", "masks": "I"}),
    "argmax": Kernel(
        "argmax.comp",
        128,
        {
            "values": "I",
            "ids": "I",
            "count": "I",
            "chunk": "I",
            **SEARCH_OUTPUT,
            "in_stride": "I",
            "out_stride": "I",
        },
    ),
    "segment_max": Kernel(
        "segment_max.comp",
        64,
        {
            "values": "I",
            "count": "I",
            "n_segments": "I",
            "maxima": "I",
            "in_stride": "I",
            "out_stride": "I",
        },
    ),
    "probe_subgroups": Kernel("probe_subgroups.comp", 128, {}),
    "probe_integer_dot": Kernel("probe_integer_dot.comp", 64, {}, {"HAS_INTEGER_DOT": 1}),
    "probe_lanes": Kernel("probe_lanes.comp", LANES, {"values": "2I"}, {"WEIGHT_ADDRESSES": 1}),
    "halve_rows": _halve(0),
    "halve_gated": _halve(1),
    "halve_normed": _halve(2),
    "sum_parts": Kernel(
        "sum_parts.comp",
        256,
        {
            "parts": "I",
            "y": "I",
            "residual": "I",
            "n_parts": "I",
            "width": "I",
            "count_at": "I",
        },
    ),
    "top_k": Kernel(
        "top_k.comp",
        256,
        {
            "values": "I",
            "ids": "I",
            "count": "I",
            "k": "I",
            "threshold": "I",
            **SEARCH_OUTPUT,
            "in_stride": "I",
            "threshold_stride": "I",
            "out_stride": "I",
        },
        {"CHUNK": TOP_K_CHUNK},
    ),
}
for _size in {tile.subgroup_size for tile in MATRIX_TILES + SMALL_MATRIX_TILES}:
    KERNELS[f"probe_matrices_{_size}"] = Kernel("probe_matrices.comp", _size, {})
KERNELS["probe_fragments"] = Kernel("probe_fragments.comp", 32, {}, {"SUBGROUP_SIZE": 32})
for _name in FORMAT_IDS:
    KERNELS[f"embed_{_name}"] = _embed(_name)
    KERNELS[f"embed_far_{_name}"] = _embed(_name, WEIGHT_ADDRESSES=1)
    for _tile in MATRIX_TILES + SMALL_MATRIX_TILES:
        KERNELS[_tile.kernel(_name)] = Kernel(
            "matmul_matrix.comp",
            _tile.group_size,
            PRODUCT,
            {
                "FORMAT": _name,
                "TILE_ROWS": _tile.rows,
                "TILE_COLUMNS": _tile.columns,
                "SUB_ROWS": _tile.sub_rows,
                "SUB_COLUMNS": _tile.sub_columns,
            },
        )
    for _few in FEW_TILES:
        KERNELS[_few.kernel(_name)] = Kernel(
            "matmul_few.comp",
            _few.group_size,
            PRODUCT,
            {"FORMAT": _name, "SUBGROUP_SIZE": _few.subgroup_size, "COLUMNS": _few.columns},
        )
    for _columns in MATMUL_TILE_COLUMNS:
        KERNELS[f"matmul_{_name}_{_columns}"] = Kernel(
            "matmul.comp",
            MATMUL_TILE_ROWS * _columns // 16,
            PRODUCT,
            {"FORMAT": _name, "TILE_ROWS": MATMUL_TILE_ROWS, "TILE_COLUMNS": _columns},
        )
    for _columns in MATVEC_COLUMNS:
        KERNELS[f"matvec_{_name}_{_columns}"] = Kernel(
            "matvec.comp", 128, PRODUCT, {"FORMAT": _name, "COLUMNS": _columns}
        )
    for _columns in MATMUL_ROWS_COLUMNS:
        KERNELS[f"matmul_rows_{_name}_{_columns}"] = Kernel(
            "matmul_rows.comp",
            8,
            PRODUCT,
            {"FORMAT": _name, "ROWS": MATMUL_ROWS_ROWS, "COLUMNS": _columns},
        )
    for _parts, _columns in product(LANES_PARTS, LANES_ROWS):
        KERNELS[f"matvec_lanes_{_name}_{_parts}_{_columns}"] = Kernel(
            "matvec_lanes.comp",
            LANES,
            PRODUCT_BY_LANES,
            {
                "FORMAT": _name,
                "PARTS": _parts,
                "COLUMNS": _columns,
                "ROWS": LANES_ROWS[_columns],
                "WEIGHT_ADDRESSES": 1,
            },
        )


KERNELS.update(CHOOSING)
KERNELS.update(products_of_experts(KERNELS, LANES_PARTS))
KERNELS.update(SAMPLE_RESIDENT)
KERNELS.update(RECURRENT)
KERNELS.update(SAMPLE_RECURRENT)


def add_attend_tile(tile: AttendTile) -> str:
    """Puts the kernel of a tile, which has a model's head size, into the table; its name."""
    kernel = Kernel(tile.source, tile.group_size, ATTEND_TILE, tile.defines)
    KERNELS.setdefault(tile.kernel, kernel)
    return tile.kernel


def add_attend_lanes(head_size: int) -> str:
    """As add_attend_tile, of attention by lanes."""
    name = f"attend_lanes_{head_size}"
    KERNELS.setdefault(
        name, Kernel("attend_lanes.comp", LANES, ATTEND_LANES, {"HEAD_SIZE": head_size})
    )
    return name


def add(named: tuple[str, Kernel]) -> str:
    """Puts a kernel that has a model's sizes into the table, under its name; the name."""
    name, kernel = named
    KERNELS.setdefault(name, kernel)
    return name


for _head_size in (48, 256):
    add_attend_lanes(_head_size)
for _attend_tile in SAMPLE_TILES:
    add_attend_tile(_attend_tile)


def pack_params(name: str, **fields: int | float | tuple[int, ...]) -> bytes:
    """The push constant block of kernel `name`; each field of its params exactly once.

    A field of four words takes a tuple of four. KeyError and TypeError are our own mistakes.
    """
    kernel = KERNELS[name]
    unknown = fields.keys() - kernel.params.keys()
    if unknown:
        raise TypeError(f"kernel {name} has no parameter {', '.join(sorted(unknown))}")
    values: list[int | float] = []
    for field_name in kernel.params:
        value = fields[field_name]
        if isinstance(value, tuple):
            values.extend(value)
        else:
            values.append(value)
    return struct.pack(kernel.struct_format, *values)
