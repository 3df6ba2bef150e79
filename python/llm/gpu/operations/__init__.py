"""The operations that a tape is made of. An executor runs each of them; nothing else computes."""

from llm.gpu.operations.attention import Attend, CacheStore, Pairing, Rotate
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
from llm.gpu.operations.experts import (
    MAX_EXPERTS,
    MAX_USED,
    Choice,
    ExpertMatMul,
    ExpertSum,
    GatedAdd,
    Route,
    Scoring,
    list_words,
    most_tiles,
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

__all__ = [
    "FLOAT_BYTES",
    "MAX_EXPERTS",
    "MAX_USED",
    "PAGE_CELLS",
    "Activation",
    "AddBias",
    "Attend",
    "CacheSlab",
    "CacheStore",
    "Choice",
    "Count",
    "Embed",
    "ExpertMatMul",
    "ExpertSum",
    "GatedAdd",
    "GatedUnit",
    "MatMul",
    "Operation",
    "Pairing",
    "RMSNorm",
    "Region",
    "Rotate",
    "Route",
    "ScaleLogits",
    "Scoring",
    "SelectRows",
    "Tensor",
    "Weight",
    "list_words",
    "most_tiles",
]

Operation = (
    Embed
    | RMSNorm
    | MatMul
    | AddBias
    | Rotate
    | CacheStore
    | Attend
    | GatedUnit
    | Route
    | ExpertMatMul
    | ExpertSum
    | GatedAdd
    | SelectRows
    | ScaleLogits
)
