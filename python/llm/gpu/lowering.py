"""Operations -> dispatches: which kernel, with which parameters, on how many groups.

The launch sizes are launches.py's; this file knows where operands lie and what is touched.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llm.gpu import launches, state
from llm.gpu.kernels import pack_params
from llm.gpu.launches import Groups, SearchStage
from llm.gpu.operations import (
    FLOAT_BYTES,
    GEGLU,
    Attend,
    CacheStore,
    Embed,
    MatMul,
    Operation,
    Region,
    RMSNorm,
    Rotate,
    SelectRows,
    Tensor,
    Weight,
)
from llm.gpu.penalties import Penalties
from llm.gpu.placement import Layout

PICKS = Region("state", state.PICK_IDS * 4, state.STATE_WORDS * 4)


@dataclass(frozen=True, slots=True)
class Dispatch:
    kernel: str
    parameters: bytes  # the push constants
    groups: Groups
    shard: int  # weight buffer that it reads
    reads: tuple[Region, ...]
    writes: tuple[Region, ...]


class Lowering:
    """Turns the operations of one program into dispatches; `is_cpu` is a software driver."""

    def __init__(self, layout: Layout, *, is_cpu: bool) -> None:
        self._layout = layout
        self._is_cpu = is_cpu

    def lower(self, operation: Operation) -> Dispatch:
        return _LOWER[type(operation)](self, operation)

    def _embed(self, op: Embed) -> Dispatch:
        name = op.weight.format.name
        return self._dispatch(
            op,
            f"embed_{name}",
            launches.embed_groups(name, op.y.width, op.y.rows),
            op.weight,
            planes=self._planes(op.weight),
            width=op.y.width,
            y=op.y.offset,
            scale=op.scale,
        )

    def _rms_norm(self, op: RMSNorm) -> Dispatch:
        return self._dispatch(
            op,
            "rms_norm",
            (op.x.rows, 1, 1),
            op.weight,
            planes=self._planes(op.weight),
            width=op.x.width,
            x=op.x.offset,
            y=op.y.offset,
            residual=state.NONE if op.residual is None else op.residual.offset,
            eps=op.eps,
            count_at=int(op.count),
        )

    def _matmul(self, op: MatMul) -> Dispatch:
        weight = op.weight
        plan = launches.plan_product(
            weight.format.name, weight.rows, weight.columns, op.x.rows, is_cpu=self._is_cpu
        )
        return self._dispatch(
            op,
            plan.kernel,
            plan.groups,
            weight,
            planes=self._planes(weight),
            height=weight.rows,
            width=weight.columns,
            x=op.x.offset,
            y=op.y.offset,
            count_at=int(op.count),
            threads_per_row=plan.threads_per_row,
        )

    def _rotate(self, op: Rotate) -> Dispatch:
        norm = state.NONE if op.norm is None else self._planes(op.norm)[0]
        return self._dispatch(
            op,
            "rotate",
            (op.heads, op.x.rows, 1),
            op.table,
            norm=norm,
            table=self._planes(op.table)[0],
            heads=op.heads,
            head_size=op.x.width // op.heads,
            x=op.x.offset,
            stride=op.x.width,
            eps=op.eps,
            scale=op.scale,
        )

    def _cache_store(self, op: CacheStore) -> Dispatch:
        return self._dispatch(
            op,
            "cache_store",
            launches.thread_groups("cache_store", op.k.width // 2, op.k.rows),
            k=op.k.offset,
            v=op.v.offset,
            stride=op.k.width,
            width=op.cache.width,
            k_cache=op.cache.keys,
            v_cache=op.cache.values,
        )

    def _attend(self, op: Attend) -> Dispatch:
        return self._dispatch(
            op,
            "attend",
            (op.heads, op.q.rows, 1),
            q=op.q.offset,
            q_stride=op.q.width,
            y=op.y.offset,
            y_stride=op.y.width,
            k_cache=op.cache.keys,
            v_cache=op.cache.values,
            heads=op.heads,
            kv_heads=op.kv_heads,
            head_size=op.q.width // op.heads,
            window=op.window,
        )

    def _geglu(self, op: GEGLU) -> Dispatch:
        return self._dispatch(
            op,
            "geglu",
            launches.thread_groups("geglu", op.y.width, op.y.rows),
            gate=op.gate.offset,
            up=op.up.offset,
            y=op.y.offset,
            width=op.y.width,
        )

    def _select_rows(self, op: SelectRows) -> Dispatch:
        return self._dispatch(
            op,
            "select_rows",
            launches.thread_groups("select_rows", op.y.width, op.y.rows),
            x=op.x.offset,
            y=op.y.offset,
            width=op.x.width,
        )

    def _dispatch(
        self,
        op: Operation,
        kernel: str,
        groups: Groups,
        weight: Weight | None = None,
        **fields: int | float | tuple[int, ...],
    ) -> Dispatch:
        shard = 0 if weight is None else self._layout.placements[weight.name].shard
        return Dispatch(kernel, pack_params(kernel, **fields), groups, shard, op.reads, op.writes)

    def _planes(self, weight: Weight) -> tuple[int, int, int, int]:
        first, second, third, fourth, *_ = *self._layout.placements[weight.name].planes, 0, 0, 0, 0
        return first, second, third, fourth


_LOWER: dict[type[Operation], Callable[[Lowering, Any], Dispatch]] = {
    Embed: Lowering._embed,
    RMSNorm: Lowering._rms_norm,
    MatMul: Lowering._matmul,
    Rotate: Lowering._rotate,
    CacheStore: Lowering._cache_store,
    Attend: Lowering._attend,
    GEGLU: Lowering._geglu,
    SelectRows: Lowering._select_rows,
}


def pick_floats(vocabulary: int) -> int:
    """Floats of scratch that the search for the best tokens needs."""
    return max(
        launches.argmax_scratch(vocabulary), launches.top_k_scratch(vocabulary, state.MAX_PICKS)
    )


def lower_picks(logits: Tensor, k: int, scratch: int) -> list[Dispatch]:
    """The k best of one row of logits go to the state's picks; `scratch` is an offset in floats."""
    stages = (
        launches.argmax_stages(logits.offset, logits.width, scratch)
        if k == 1
        else launches.top_k_stages(logits.offset, logits.width, k, scratch)
    )
    return _chain(stages, logits, scratch)


def lower_penalize(logits: Tensor, penalties: Penalties) -> Dispatch:
    """Takes the penalties that stand in the state off one row of logits."""
    parameters = pack_params(
        "penalize",
        x=logits.offset,
        vocabulary=logits.width,
        repeat=penalties.repeat,
        presence=penalties.presence,
        frequency=penalties.frequency,
    )
    groups = launches.thread_groups("penalize", len(penalties.counts))
    return Dispatch("penalize", parameters, groups, 0, (logits.region,), (logits.region,))


def _chain(stages: Sequence[SearchStage], logits: Tensor, scratch: int) -> list[Dispatch]:
    """Each stage reads what the one before it wrote, so all of the scratch counts as touched."""
    start = scratch * FLOAT_BYTES
    lists = Region("work", start, start + pick_floats(logits.width) * FLOAT_BYTES)
    return [
        Dispatch(
            stage.kernel,
            pack_params(stage.kernel, **stage.params),
            stage.groups,
            0,
            (logits.region, lists),
            (lists, PICKS),
        )
        for stage in stages
    ]
