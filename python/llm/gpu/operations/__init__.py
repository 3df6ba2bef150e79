"""The operations that a tape is made of. An executor runs each of them; nothing else computes."""

from llm.gpu.operations.attention import Attend, CacheStore, Pairing, Rotate
from llm.gpu.operations.dense import (
    Activation,
    Embed,
    GatedUnit,
    MatMul,
    RMSNorm,
    SelectRows,
    SoftCap,
)
from llm.gpu.operations.operands import (
    FLOAT_BYTES,
    PAGE_CELLS,
    CacheSlab,
    Count,
    Region,
    Tensor,
    Weight,
)
from llm.gpu.operations.streams import Combine, MixStreams, Rescale, Sparsify

__all__ = [
    "FLOAT_BYTES",
    "PAGE_CELLS",
    "Activation",
    "Attend",
    "CacheSlab",
    "CacheStore",
    "Combine",
    "Count",
    "Embed",
    "GatedUnit",
    "MatMul",
    "MixStreams",
    "Operation",
    "Pairing",
    "RMSNorm",
    "Region",
    "Rescale",
    "Rotate",
    "SelectRows",
    "SoftCap",
    "Sparsify",
    "Tensor",
    "Weight",
]

Operation = (
    Embed
    | RMSNorm
    | MatMul
    | Rotate
    | CacheStore
    | Attend
    | GatedUnit
    | SelectRows
    | SoftCap
    | Combine
    | Rescale
    | MixStreams
    | Sparsify
)
