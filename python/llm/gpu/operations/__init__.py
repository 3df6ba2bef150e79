"""The operations that a tape is made of. An executor runs each of them; nothing else computes."""

from llm.gpu.operations.attention import Attend, CacheStore, Pairing, Rotate
from llm.gpu.operations.dense import Activation, Embed, GatedUnit, MatMul, RMSNorm, SelectRows
from llm.gpu.operations.operands import (
    FLOAT_BYTES,
    PAGE_CELLS,
    CacheSlab,
    Count,
    Region,
    StateSlab,
    Tensor,
    Weight,
)
from llm.gpu.operations.recurrent import (
    Convolve,
    DeltaRule,
    GatedNorm,
    HeadMapping,
    L2Norm,
    Recurrent,
    SliceHeads,
)

__all__ = [
    "FLOAT_BYTES",
    "PAGE_CELLS",
    "Activation",
    "Attend",
    "CacheSlab",
    "CacheStore",
    "Convolve",
    "Count",
    "DeltaRule",
    "Embed",
    "GatedNorm",
    "GatedUnit",
    "HeadMapping",
    "L2Norm",
    "MatMul",
    "Operation",
    "Pairing",
    "RMSNorm",
    "Recurrent",
    "Region",
    "Rotate",
    "SelectRows",
    "SliceHeads",
    "StateSlab",
    "Tensor",
    "Weight",
]

Dense = Embed | RMSNorm | MatMul | Rotate | CacheStore | Attend | GatedUnit | SelectRows
Operation = Dense | Recurrent
