"""Operations on recurrent state, and those around them -> dispatches."""

import math
from dataclasses import dataclass, replace

from llm.gpu.device.placement import Layout
from llm.gpu.dispatch.dispatches import Dispatch
from llm.gpu.dispatch.launches import Groups, ceil_div, thread_groups
from llm.gpu.kernels.recurrent import (
    CONVOLVE_ROWS,
    convolve,
    delta_chunks,
    delta_pairs,
    delta_rule,
)
from llm.gpu.kernels.variants import add, pack_params
from llm.gpu.operations import (
    DELTA_CHUNK,
    Convolve,
    DeltaRule,
    GatedNorm,
    L2Norm,
    Recurrent,
    SliceHeads,
    Weight,
)

COLUMNS = 32  # of the state of a head, for a group
MAX_CHUNK_HEAD = 128  # values of a head, as shared memory has the keys and queries of a chunk


@dataclass(frozen=True, slots=True)
class Chunks:
    """How the delta rule goes over a prompt: see delta_pairs.comp and delta_chunks.comp."""

    pair_threads: int  # of a group that finds pairs
    columns: int  # of the state of a head, for a group
    each: int  # columns of a thread
    parts: int  # threads of a column, at most
    is_staged: bool


CHUNKS = Chunks(pair_threads=64, columns=16, each=1, parts=4, is_staged=True)
CPU_CHUNKS = Chunks(pair_threads=16, columns=32, each=2, parts=1, is_staged=False)


class RecurrentLowering:
    """See Lowering; tables of sequences have `table_quads` quads each."""

    def __init__(self, layout: Layout, table_quads: int, *, is_cpu: bool) -> None:
        self._layout = layout
        self._table_quads = table_quads
        self._chunks = CPU_CHUNKS if is_cpu else CHUNKS

    def lower(self, op: Recurrent, *, are_apart: bool) -> Dispatch | list[Dispatch]:
        """Rows that `are_apart` may be of several sequences."""
        match op:
            case Convolve():
                return self._convolve(op)
            case DeltaRule():
                if are_apart or op.y.rows < DELTA_CHUNK or op.head_size > MAX_CHUNK_HEAD:
                    return self._delta_rule(op, op.y.rows if are_apart else 1)
                return self._delta_chunks(op)
            case L2Norm():
                return self._l2_norm(op)
            case GatedNorm():
                return self._gated_norm(op)
            case SliceHeads():
                return self._slice_heads(op)

    def _convolve(self, op: Convolve) -> Dispatch:
        kernel = add(convolve(op.weight.columns))
        return self._dispatch(
            op,
            kernel,
            thread_groups(kernel, op.y.width, ceil_div(op.y.rows, CONVOLVE_ROWS)),
            op.weight,
            has_slots=True,
            weight=self._words(op.weight),
            x=op.x.offset,
            y=op.y.offset,
            width=op.y.width,
            is_gated=int(op.is_gated),
            slab=op.state.start,
            table_quads=self._table_quads,
        )

    def _delta_rule(self, op: DeltaRule, sequences: int) -> Dispatch:
        blocks = ceil_div(op.head_size, COLUMNS)
        return self._dispatch(
            op,
            add(delta_rule(op.head_size, COLUMNS)),
            (op.heads * blocks, sequences, 1),
            op.decay,
            has_slots=True,
            qkv=op.qkv.offset,
            alpha=op.alpha.offset,
            beta=op.beta.offset,
            y=op.y.offset,
            decay=self._words(op.decay),
            bias=self._words(op.bias),
            key_heads=op.key_heads,
            heads=op.heads,
            mapping=int(op.mapping),
            slab=op.state.start,
            table_quads=self._table_quads,
        )

    def _delta_chunks(self, op: DeltaRule) -> list[Dispatch]:
        size, chunks = op.head_size, self._chunks
        parts = math.gcd(size // 4, chunks.parts)
        kernel = delta_chunks(size, chunks.columns, chunks.each, parts, is_staged=chunks.is_staged)
        pairs = self._dispatch(
            op,
            add(delta_pairs(size, chunks.pair_threads)),
            (op.heads, ceil_div(op.y.rows, DELTA_CHUNK), 1),
            op.decay,
            qkv=op.qkv.offset,
            alpha=op.alpha.offset,
            beta=op.beta.offset,
            pairs=op.pairs.offset,
            decay=self._words(op.decay),
            bias=self._words(op.bias),
            key_heads=op.key_heads,
            heads=op.heads,
            mapping=int(op.mapping),
        )
        rule = self._dispatch(
            op,
            add(kernel),
            (op.heads * ceil_div(size, chunks.columns), 1, 1),
            has_slots=True,
            qkv=op.qkv.offset,
            pairs=op.pairs.offset,
            y=op.y.offset,
            key_heads=op.key_heads,
            heads=op.heads,
            mapping=int(op.mapping),
            slab=op.state.start,
            table_quads=self._table_quads,
        )
        return [
            replace(pairs, writes=(op.pairs.region,)),
            replace(rule, reads=(*op.reads, op.pairs.region)),
        ]

    def _l2_norm(self, op: L2Norm) -> Dispatch:
        return self._dispatch(
            op,
            "l2_norm",
            (op.heads, op.x.rows, 1),
            x=op.x.offset,
            stride=op.x.width,
            head_size=op.head_size,
            eps=op.eps,
        )

    def _gated_norm(self, op: GatedNorm) -> Dispatch:
        return self._dispatch(
            op,
            "gated_norm",
            (op.heads, op.x.rows, 1),
            op.weight,
            weight=self._words(op.weight),
            x=op.x.offset,
            gate=op.gate.offset,
            y=op.y.offset,
            heads=op.heads,
            head_size=op.x.width // op.heads,
            eps=op.eps,
        )

    def _slice_heads(self, op: SliceHeads) -> Dispatch:
        return self._dispatch(
            op,
            "slice_heads",
            thread_groups("slice_heads", op.y.width, op.y.rows),
            x=op.x.offset,
            y=op.y.offset,
            heads=op.heads,
            head_size=op.x.width // op.heads,
            size=op.y.width // op.heads,
            first=op.first,
        )

    def _dispatch(
        self,
        op: Recurrent,
        kernel: str,
        groups: Groups,
        of_shard: Weight | None = None,
        *,
        has_slots: bool = False,
        **fields: int | float,
    ) -> Dispatch:
        shard = 0 if of_shard is None else self._layout.placements[of_shard.name].shard
        packed = pack_params(kernel, **fields)
        return Dispatch(kernel, packed, groups, shard, op.reads, op.writes, has_slots)

    def _words(self, weight: Weight) -> int:
        """Where a float32 weight starts in its weight buffer."""
        return self._layout.placements[weight.name].planes[0]
