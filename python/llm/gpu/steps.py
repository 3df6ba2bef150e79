"""Steps of the persistent kernel: fused operations of a tape, packed as step_words.glslh has them.

A step ends where another must see all of its output: five of them make a dense layer.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from llm.gpu.operations import CacheSlab, Tensor, Weight
from llm.gpu.placement import Layout
from llm.gpu.state import NONE

STEP_WORDS = 48
NOTHING = 2  # kind of a step that is only its barrier
SEGMENT, SEGMENT_WORDS, EMBEDDING = 16, 8, 40  # words
MAX_SEGMENTS = 3

Words = NDArray[np.uint32]


class Prologue(IntEnum):
    """How the input of a product is made."""

    PLAIN = 0
    EMBED = 1
    NORM = 2
    ADD_NORM = 3
    JOIN = 4


class Epilogue(IntEnum):
    """What becomes of its output."""

    STORE = 0
    GEGLU = 1
    BEST = 2


@dataclass(slots=True)
class Product:
    """One or more matrices times one vector."""

    prologue: Prologue
    width: int  # K
    weights: list[Weight]
    outputs: list[Tensor]
    epilogue: Epilogue = Epilogue.STORE
    x: Tensor | None = None
    y: Tensor | None = None  # normed by `post_norm` and added to x
    x_out: Tensor | None = None  # where x + y, or the embedding, is kept
    norm: Weight | None = None
    post_norm: Weight | None = None
    eps: float = 0.0
    embedding: Weight | None = None
    scale: float = 1.0  # of the embedding
    n_parts: int = 0  # of attention, to join, at most
    window: int = 0  # of that attention
    partials: int = NONE  # offset in floats

    @property
    def label(self) -> str:
        """Equal for steps that do the same on matrices of the same sizes and formats."""
        sizes = " + ".join(f"{weight.rows} {weight.format}" for weight in self.weights)
        return f"{self.prologue.name}, {sizes} x {self.width}, {self.epilogue.name}".lower()

    def pack(self, layout: Layout) -> Words:
        words = np.zeros(STEP_WORDS, np.uint32)
        words[:8] = (
            0,
            self.prologue,
            self.epilogue,
            _offset(self.x),
            _offset(self.y),
            _offset(self.x_out),
            _plane(self.norm, layout),
            _plane(self.post_norm, layout),
        )
        words[8] = _bits(self.eps)
        words[9:13] = (self.width, len(self.weights), self.partials, self.n_parts)
        words[13] = _bits(self.scale)
        words[14] = self.window
        for number, (weight, output) in enumerate(zip(self.weights, self.outputs, strict=True)):
            start = SEGMENT + number * SEGMENT_WORDS
            words[start : start + 6] = _matrix(weight, layout)
            words[start + 6] = output.offset
        if self.embedding is not None:
            words[EMBEDDING : EMBEDDING + 6] = _matrix(self.embedding, layout)
        return words


@dataclass(slots=True)
class Attention:
    """Norm and rotation of queries and keys, the new cell, and partial sums over the cells."""

    q: Tensor
    k: Tensor
    v: Tensor
    q_norm: Weight | None
    k_norm: Weight | None
    table: Weight
    eps: float
    scale: float
    cache: CacheSlab
    kv_heads: int
    window: int
    n_parts: int
    partials: int

    @property
    def label(self) -> str:
        return f"attention, window {self.window}" if self.window else "attention, all cells"

    def pack(self, layout: Layout) -> Words:
        words = np.zeros(STEP_WORDS, np.uint32)
        words[0] = 1
        words[3:8] = (
            self.q.offset,
            self.k.offset,
            self.v.offset,
            _plane(self.q_norm, layout),
            _plane(self.k_norm, layout),
        )
        words[8] = _bits(self.eps)
        words[9:13] = (_plane(self.table, layout), self.kv_heads, self.partials, self.n_parts)
        words[13] = _bits(self.scale)
        words[14] = self.window
        words[16:18] = (self.cache.keys, self.cache.values)
        return words


Step = Product | Attention


def _matrix(weight: Weight, layout: Layout) -> tuple[int, ...]:
    planes = (*layout.placements[weight.name].planes, 0, 0, 0)[:4]
    return weight.format.id, weight.rows, *planes


def _offset(tensor: Tensor | None) -> int:
    return NONE if tensor is None else tensor.offset


def _plane(weight: Weight | None, layout: Layout) -> int:
    return NONE if weight is None else layout.placements[weight.name].planes[0]


def _bits(value: float) -> int:
    return int(np.float32(value).view(np.uint32))
