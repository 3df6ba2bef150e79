"""The operations that a tape is made of. An executor runs each of them; nothing else computes."""

from llm.gpu.operations.attention import Attend, CacheStore, Pairing, Rotate, Temperature
from llm.gpu.operations.dense import (
    Activation,
    AddBias,
    Embed,
    GatedUnit,
    MatMul,
    RMSNorm,
    ScaleLogits,
    SelectRows,
)
from llm.gpu.operations.encoders import Activate, AddPositions, EncoderOperation, LayerNorm
from llm.gpu.operations.operands import (
    FLOAT_BYTES,
    PAGE_CELLS,
    CacheSlab,
    Count,
    Region,
    Tensor,
    Weight,
)

__all__ = [
    "FLOAT_BYTES",
    "PAGE_CELLS",
    "Activate",
    "Activation",
    "AddBias",
    "AddPositions",
    "Attend",
    "CacheSlab",
    "CacheStore",
    "Count",
    "Embed",
    "EncoderOperation",
    "GatedUnit",
    "LayerNorm",
    "MatMul",
    "Operation",
    "Pairing",
    "RMSNorm",
    "Region",
    "Rotate",
    "ScaleLogits",
    "SelectRows",
    "Temperature",
    "Tensor",
    "Weight",
]

Dense = Embed | RMSNorm | MatMul | AddBias | GatedUnit | SelectRows | ScaleLogits
Operation = Dense | EncoderOperation | Rotate | CacheStore | Attend
