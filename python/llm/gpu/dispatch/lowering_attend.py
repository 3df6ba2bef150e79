"""Attention -> dispatches: one, or one for parts of the cells and one that joins them."""

from dataclasses import replace

from llm.gpu import state
from llm.gpu.device.placement import Placement
from llm.gpu.dispatch.dispatches import Dispatch, Scratch
from llm.gpu.dispatch.launches_attend import AttendDevice, AttendPlan, plan_attend
from llm.gpu.dispatch.lowering_products import WORD, Addresses
from llm.gpu.kernels.addresses import words_of
from llm.gpu.kernels.variants import pack_params
from llm.gpu.operations import Attend
from llm.gpu.program import ROWS_APART
from llm.gpu.tape import Tape


def attend_scratch_floats(tape: Tape, device: AttendDevice) -> int:
    """Floats of scratch that the attention of a tape needs, recorded for as many rows or fewer."""
    kinds = {_sizes(op): op.q.rows for op in tape.operations if isinstance(op, Attend)}
    return max(
        (
            plan_attend(*sizes, rows, device, are_apart=are_apart).partial_floats
            for sizes, most in kinds.items()
            for are_apart in (False, True)
            for rows in range(1, (min(most, ROWS_APART) if are_apart else most) + 1)
        ),
        default=0,
    )


class AttendLowering:
    """See Lowering; `scratch` starts at a multiple of four floats.

    `addresses`: of a device that has lanes; else None.
    """

    def __init__(
        self, scratch: Scratch, device: AttendDevice, addresses: Addresses | None = None
    ) -> None:
        self._scratch = scratch
        self._device = device
        self._addresses = addresses

    def lower(
        self, op: Attend, sinks: Placement | None = None, *, are_apart: bool = False
    ) -> list[Dispatch]:
        """`sinks`: where they lie, if there are some.

        Rows that `are_apart`, ROWS_APART at most, may be of several sequences.
        """
        device = self._device
        if op.ahead or op.alibi or op.sinks is not None:
            device = replace(device, has_lanes=False)
        plan = plan_attend(*_sizes(op), op.q.rows, device, are_apart=are_apart)
        if plan.by_lanes:
            return [self._by_lanes(op, plan)]
        source: dict[str, int | float] = {
            "q": op.q.offset,
            "q_stride": op.q.width,
            "k_cache": op.cache.keys,
            "v_cache": op.cache.values,
            "heads": op.heads,
            "kv_heads": op.kv_heads,
            "window": op.window,
            "ahead": op.ahead,
            "step": plan.step,
            "soft_cap": op.soft_cap,
            "alibi": op.alibi,
        }
        sinks_at = state.NONE if sinks is None else sinks.planes[0]
        shard = 0 if sinks is None else sinks.shard
        target = {"y": op.y.offset, "y_stride": op.y.width}
        if plan.tile is None:
            head_size = op.q.width // op.heads
            packed = pack_params(
                plan.kernel, **source, **target, head_size=head_size, sinks=sinks_at
            )
            return [Dispatch(plan.kernel, packed, plan.groups, shard, op.reads, op.writes)]
        start = self._scratch.start
        packed = pack_params(plan.kernel, **source, **target, partials=start, sinks=sinks_at)
        if plan.parts == 1:
            return [Dispatch(plan.kernel, packed, plan.groups, shard, op.reads, op.writes)]
        partials = self._scratch.part(plan.partial_floats, "partial attention")
        merge = pack_params(
            "attend_merge",
            **target,
            partials=start,
            heads=op.heads,
            kv_heads=op.kv_heads,
            head_size=plan.tile.head_size,
            queries=plan.tile.queries,
            n_parts=plan.parts,
            step=plan.step,
            sinks=sinks_at,
        )
        return [
            Dispatch(plan.kernel, packed, plan.groups, shard, op.reads, (partials, *op.writes)),
            Dispatch("attend_merge", merge, plan.merge_groups, shard, (partials,), op.writes),
        ]

    def _by_lanes(self, op: Attend, plan: AttendPlan) -> Dispatch:
        assert self._addresses is not None
        packed = pack_params(
            plan.kernel,
            q=words_of(self._addresses.work + op.q.offset * WORD),
            cache_at=words_of(self._addresses.cache),
            q_stride=op.q.width,
            y=op.y.offset,
            y_stride=op.y.width,
            k_cache=op.cache.keys,
            v_cache=op.cache.values,
            heads=op.heads,
            kv_heads=op.kv_heads,
            window=op.window,
            soft_cap=op.soft_cap,
        )
        return Dispatch(plan.kernel, packed, plan.groups, 0, op.reads, op.writes)


def _sizes(op: Attend) -> tuple[int, int, int, int]:
    """Heads, key/value heads, head size, cells that a row sees, or 0 for all."""
    cells = op.window + op.ahead if op.window else 0
    return op.heads, op.kv_heads, op.q.width // op.heads, cells
