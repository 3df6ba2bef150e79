"""Attention that is gated by a sigmoid, as several architectures have it.

One product gives queries and gates: behind each head's query stands the gate of what it finds.
Queries and keys have RMS norms, and a part of each head is turned, by halves.

Letters: T rows, C width, H query heads, G key/value heads, D head size.
"""

import math
from dataclasses import dataclass

from llm.errors import ModelFileError
from llm.files.model_file import ModelFile
from llm.gpu.operations import Activation, CacheSlab, Pairing, Tensor, Weight
from llm.gpu.tape import Tape
from llm.models.rope import Rope
from llm.models.weights import WeightTable

MAX_HEAD_SIZE = 512  # shared memory of the attention kernel


@dataclass(frozen=True, slots=True)
class AttentionSizes:
    n_heads: int  # H
    n_kv_heads: int  # G
    head_size: int  # D

    @classmethod
    def from_gguf(cls, file: ModelFile, architecture: str) -> "AttentionSizes":
        """Raises ModelFileError."""
        meta = file.metadata
        width = meta.int(f"{architecture}.embedding_length", minimum=1)
        n_heads = meta.int(f"{architecture}.attention.head_count", minimum=1)
        head_size = meta.int(f"{architecture}.attention.key_length", default=width // n_heads)
        sizes = cls(
            n_heads=n_heads,
            n_kv_heads=meta.int(f"{architecture}.attention.head_count_kv", n_heads, minimum=1),
            head_size=head_size,
        )
        sizes._check(file, architecture)
        return sizes

    def _check(self, file: ModelFile, architecture: str) -> None:
        if self.n_heads % self.n_kv_heads:
            problem = f"{self.n_heads} heads do not share {self.n_kv_heads} key/value heads evenly"
            raise ModelFileError(file.path, f"{architecture}.attention.head_count", problem)
        if self.head_size % 8 or not 0 < self.head_size <= MAX_HEAD_SIZE:
            problem = f"{self.head_size} is not a multiple of 8 up to {MAX_HEAD_SIZE}"
            raise ModelFileError(file.path, f"{architecture}.attention.key_length", problem)

    @property
    def queries(self) -> int:
        """H*D"""
        return self.n_heads * self.head_size

    @property
    def keys(self) -> int:
        """G*D"""
        return self.n_kv_heads * self.head_size


@dataclass(frozen=True, slots=True)
class GatedAttention:
    """One layer."""

    queries_and_gates: Weight  # (H*2*D, C)
    k: Weight  # (G*D, C)
    v: Weight  # (G*D, C)
    q_norm: Weight  # (1, D)
    k_norm: Weight  # (1, D)
    output: Weight  # (C, H*D)
    cells: CacheSlab

    @classmethod
    def take(
        cls, table: WeightTable, prefix: str, width: int, sizes: AttentionSizes, cells: CacheSlab
    ) -> "GatedAttention":
        return cls(
            queries_and_gates=table.matrix(prefix + "attn_q.weight", 2 * sizes.queries, width),
            k=table.matrix(prefix + "attn_k.weight", sizes.keys, width),
            v=table.matrix(prefix + "attn_v.weight", sizes.keys, width),
            q_norm=table.vector(prefix + "attn_q_norm.weight", sizes.head_size),
            k_norm=table.vector(prefix + "attn_k_norm.weight", sizes.head_size),
            output=table.matrix(prefix + "attn_output.weight", width, sizes.queries),
            cells=cells,
        )


class AttentionWork:
    """Activations of such layers, one after the other."""

    def __init__(self, tape: Tape, sizes: AttentionSizes, rope: Rope) -> None:
        self._tape = tape
        self._sizes = sizes
        self._rope = rope
        self._queries_and_gates = tape.tensor(2 * sizes.queries)  # (T, H*2*D)
        self._q = tape.tensor(sizes.queries)  # (T, H*D)
        self._gate = tape.tensor(sizes.queries)  # (T, H*D)
        self._k = tape.tensor(sizes.keys)  # (T, G*D)
        self._v = tape.tensor(sizes.keys)  # (T, G*D)
        self._mixed = tape.tensor(sizes.queries)  # (T, H*D)

    def add(self, layer: GatedAttention, h: Tensor, x: Tensor, eps: float) -> None:
        """x = x + what the layer makes of h, (T, C) each."""
        tape, sizes = self._tape, self._sizes
        heads, kv_heads = sizes.n_heads, sizes.n_kv_heads
        tape.matmul(layer.queries_and_gates, h, self._queries_and_gates)
        tape.matmul(layer.k, h, self._k)
        tape.matmul(layer.v, h, self._v)
        tape.slice_heads(self._queries_and_gates, self._q, heads=heads, first=0)
        tape.slice_heads(self._queries_and_gates, self._gate, heads=heads, first=sizes.head_size)
        for of_heads, count, norm, scale in (
            (self._q, heads, layer.q_norm, 1.0 / math.sqrt(sizes.head_size)),
            (self._k, kv_heads, layer.k_norm, 1.0),
        ):
            tape.rotate(
                of_heads,
                self._rope.weight,
                heads=count,
                pairing=Pairing.HALVES,
                norm=norm,
                eps=eps,
                scale=scale,
                magnitude=self._rope.magnitude,
            )
        tape.cache_store(self._k, self._v, layer.cells)
        tape.attend(self._q, layer.cells, self._mixed, heads=heads, kv_heads=kv_heads)
        tape.gated_unit(self._gate, self._mixed, self._mixed, Activation.SIGMOID)
        tape.matmul(layer.output, self._mixed, x, residual=x)
