"""The operations that a tape is made of. An executor runs each of them; nothing else computes."""

from llm.gpu.operations.attention import Attend, CacheStore, Pairing, Rotate, Temperature
from llm.gpu.operations.dense import (
    Activate,
    Activation,
    AddBias,
    Embed,
    GatedUnit,
    LayerNorm,
    MatMul,
    RMSNorm,
    ScaleLogits,
    SelectRows,
)
from llm.gpu.operations.encoders import AddPositions
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
    StateSlab,
    Tensor,
    Weight,
)
from llm.gpu.operations.recurrent import (
    DELTA_CHUNK,
    PAIR_FLOATS,
    Convolve,
    DeltaRule,
    GatedNorm,
    HeadMapping,
    L2Norm,
    Recurrent,
    SliceHeads,
)
from llm.gpu.operations.streams import Combine, MixStreams, Rescale, Sparsify, Streams

__all__ = [
    "DELTA_CHUNK",
    "FLOAT_BYTES",
    "MAX_EXPERTS",
    "MAX_USED",
    "PAGE_CELLS",
    "PAIR_FLOATS",
    "Activate",
    "Activation",
    "AddBias",
    "AddPositions",
    "Attend",
    "CacheSlab",
    "CacheStore",
    "Choice",
    "Combine",
    "Convolve",
    "Count",
    "DeltaRule",
    "Embed",
    "ExpertMatMul",
    "ExpertSum",
    "GatedAdd",
    "GatedNorm",
    "GatedUnit",
    "HeadMapping",
    "L2Norm",
    "LayerNorm",
    "MatMul",
    "MixStreams",
    "Operation",
    "Pairing",
    "RMSNorm",
    "Recurrent",
    "Region",
    "Rescale",
    "Rotate",
    "Route",
    "ScaleLogits",
    "Scoring",
    "SelectRows",
    "SliceHeads",
    "Sparsify",
    "StateSlab",
    "Temperature",
    "Tensor",
    "Weight",
    "list_words",
    "most_tiles",
]

Norms = RMSNorm | LayerNorm
Dense = Embed | Norms | MatMul | AddBias | GatedUnit | Activate | SelectRows | ScaleLogits
Experts = Route | ExpertMatMul | ExpertSum | GatedAdd
Operation = Dense | AddPositions | Rotate | CacheStore | Attend | Recurrent | Experts | Streams
