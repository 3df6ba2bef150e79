"""Operations -> dispatches: which kernel, with which parameters, on how many groups.

The launch sizes are launches.py's; this file knows where operands lie and what is touched.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from llm.gpu import state
from llm.gpu.device.placement import Layout
from llm.gpu.dispatch import launches
from llm.gpu.dispatch.dispatches import Dispatch, Scratch
from llm.gpu.dispatch.launches import Groups, SearchStage
from llm.gpu.dispatch.launches_attend import AttendDevice
from llm.gpu.dispatch.lowering_attend import AttendLowering, attend_scratch_floats
from llm.gpu.dispatch.lowering_experts import ExpertLowering
from llm.gpu.dispatch.lowering_products import ProductLowering
from llm.gpu.dispatch.lowering_recurrent import RecurrentLowering
from llm.gpu.dispatch.lowering_streams import lower_streams
from llm.gpu.kernels.addresses import plane_fields
from llm.gpu.kernels.variants import pack_params
from llm.gpu.operations import (
    Activate,
    AddBias,
    AddPositions,
    Attend,
    CacheStore,
    Combine,
    Embed,
    ExpertMatMul,
    ExpertSum,
    GatedAdd,
    GatedUnit,
    LayerNorm,
    MatMul,
    MixStreams,
    Operation,
    Recurrent,
    Region,
    Rescale,
    RMSNorm,
    Rotate,
    Route,
    ScaleLogits,
    SelectRows,
    Sparsify,
    Tensor,
    Weight,
)
from llm.gpu.program import ROWS_APART, WORD
from llm.gpu.tape import Tape

STATE = Region("state", 0, state.STATE_WORDS * 4)
PICKS = Region("state", state.PICK_IDS * 4, state.STATE_WORDS * 4)


class Lowering:
    """Turns the operations of one program into dispatches.

    `products` and `attention` know where dispatches of one operation leave each other partial
    results. `far` are the addresses of the shards that are not bound.
    """

    def __init__(
        self,
        layout: Layout,
        products: ProductLowering,
        attention: AttendLowering,
        recurrent: RecurrentLowering,
        far: Sequence[int] = (),
    ) -> None:
        self._layout = layout
        self._far = far
        self._products = products
        self._attention = attention
        self._recurrent = recurrent
        self._experts = ExpertLowering(layout, products)

    def lower(self, operations: Sequence[Operation], *, are_apart: bool = False) -> list[Dispatch]:
        """The dispatches of a whole tape, in order.

        Rows that `are_apart` may be of several sequences.
        """
        dispatches: list[Dispatch] = []
        self._products.begin(operations)
        self._experts.begin()
        for index, op in enumerate(operations):
            self._products.notice(op.writes)
            lowered: Dispatch | list[Dispatch] | None = None
            if isinstance(op, RMSNorm | GatedUnit):
                lowered = self._products.absorb(op, operations[index + 1 :])
            if isinstance(op, Combine | Rescale | MixStreams | Sparsify):
                lowered = lower_streams(op, self._layout)
            if isinstance(op, Attend):
                sinks = None if op.sinks is None else self._layout.placements[op.sinks.name]
                lowered = self._attention.lower(op, sinks, are_apart=are_apart)
            if isinstance(op, Recurrent):
                lowered = self._recurrent.lower(op, are_apart=are_apart)
            if lowered is None:
                lowered = _LOWER[type(op)](self, op)
            dispatches += lowered if isinstance(lowered, list) else [lowered]
        return dispatches

    def _embed(self, op: Embed) -> list[Dispatch]:
        """None of a table in RAM: the host puts its rows where they go."""
        placement = self._layout.placements.get(op.weight.name)
        if placement is None:
            return []
        name = op.weight.format.name
        kernel, shard, planes = f"embed_{name}", placement.shard, placement.planes
        if shard >= self._layout.n_bound:
            start = self._far[shard - self._layout.n_bound]
            planes = tuple(start + plane * WORD for plane in planes)
            kernel, shard = f"embed_far_{name}", 0
        parameters = pack_params(
            kernel,
            **plane_fields(planes),
            width=op.y.width,
            y=op.y.offset,
            scale=op.scale,
        )
        groups = launches.embed_groups(name, op.y.width, op.y.rows)
        return [Dispatch(kernel, parameters, groups, shard, op.reads, op.writes)]

    def _rms_norm(self, op: RMSNorm) -> Dispatch:
        return self._dispatch(
            op,
            "rms_norm",
            (op.x.rows, op.parts, 1),
            op.weight,
            norm=state.NONE if op.weight is None else self._planes(op.weight)[0],
            width=op.x.width // op.parts,
            stride=op.x.width,
            x=op.x.offset,
            y=op.y.offset,
            residual=_offset(op.residual),
            eps=op.eps,
            scale=op.scale,
            count_at=int(op.count),
        )

    def _layer_norm(self, op: LayerNorm) -> Dispatch:
        return self._dispatch(
            op,
            "layer_norm",
            (op.x.rows, 1, 1),
            op.weight,
            weight_at=self._planes(op.weight)[0],
            bias=state.NONE if op.bias is None else self._planes(op.bias)[0],
            width=op.x.width,
            x=op.x.offset,
            y=op.y.offset,
            eps=op.eps,
            count_at=int(op.count),
        )

    def _matmul(self, op: MatMul) -> list[Dispatch]:
        return self._products.lower(op)

    def _add_bias(self, op: AddBias) -> Dispatch:
        return self._dispatch(
            op,
            "add_bias",
            launches.thread_groups("add_bias", op.x.width, op.x.rows),
            op.weight,
            bias=self._planes(op.weight)[0],
            x=op.x.offset,
            width=op.x.width,
            count_at=int(op.count),
        )

    def _add_positions(self, op: AddPositions) -> Dispatch:
        return self._dispatch(
            op,
            "add_positions",
            launches.thread_groups("add_positions", op.x.width, op.x.rows),
            op.weight,
            table=self._planes(op.weight)[0],
            x=op.x.offset,
            width=op.x.width,
        )

    def _scale_logits(self, op: ScaleLogits) -> Dispatch:
        return self._dispatch(
            op,
            "scale_logits",
            launches.thread_groups("scale_logits", op.x.width, op.x.rows),
            x=op.x.offset,
            width=op.x.width,
            scale=op.scale,
            soft_cap=op.soft_cap,
        )

    def _route(self, op: Route) -> Dispatch:
        return self._experts.route(op)

    def _expert_matmul(self, op: ExpertMatMul) -> list[Dispatch]:
        return self._experts.multiply(op)

    def _expert_sum(self, op: ExpertSum) -> Dispatch:
        return self._experts.sum_up(op)

    def _gated_add(self, op: GatedAdd) -> Dispatch:
        return self._experts.add_gated(op)

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
            turned=op.turned,
            pairing=int(op.pairing),
            x=op.x.offset,
            stride=op.x.width,
            eps=op.eps,
            scale=op.scale,
            magnitude=op.magnitude,
            temperature_rate=0.0 if op.temperature is None else op.temperature.rate,
            temperature_length=1 if op.temperature is None else op.temperature.length,
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

    def _gated_unit(self, op: GatedUnit) -> Dispatch:
        return self._dispatch(
            op,
            "gated_unit",
            launches.thread_groups("gated_unit", op.y.width, op.y.rows),
            gate=op.gate.offset,
            up=op.up.offset,
            y=op.y.offset,
            width=op.y.width,
            up_stride=op.up.stride,
            activation=int(op.activation),
        )

    def _activate(self, op: Activate) -> Dispatch:
        return self._dispatch(
            op,
            "activate",
            launches.thread_groups("activate", op.x.width, op.x.rows),
            x=op.x.offset,
            width=op.x.width,
            activation=int(op.activation),
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
        return self._layout.placements[weight.name].four_planes


_LOWER: dict[type[Operation], Callable[[Lowering, Any], Dispatch | list[Dispatch]]] = {
    Embed: Lowering._embed,
    RMSNorm: Lowering._rms_norm,
    LayerNorm: Lowering._layer_norm,
    MatMul: Lowering._matmul,
    AddBias: Lowering._add_bias,
    AddPositions: Lowering._add_positions,
    Rotate: Lowering._rotate,
    CacheStore: Lowering._cache_store,
    GatedUnit: Lowering._gated_unit,
    Activate: Lowering._activate,
    SelectRows: Lowering._select_rows,
    ScaleLogits: Lowering._scale_logits,
    Route: Lowering._route,
    ExpertMatMul: Lowering._expert_matmul,
    ExpertSum: Lowering._expert_sum,
    GatedAdd: Lowering._gated_add,
}


def _offset(tensor: Tensor | None) -> int:
    return state.NONE if tensor is None else tensor.offset


def scratch_floats(tape: Tape, vocabulary: int, devices: Collection[AttendDevice]) -> int:
    """Floats of scratch that attention on any of `devices`, and the picks, need at most."""
    return max(
        tape.outputs * launches.argmax_scratch(vocabulary),
        launches.top_k_scratch(vocabulary, state.MAX_PICKS),
        *(
            rows * launches.top_k_scratch(vocabulary, min(state.ALL_PICKS // rows, state.MAX_PICKS))
            for rows in range(1, min(tape.outputs, ROWS_APART) + 1)
        ),
        *(attend_scratch_floats(tape, device) for device in devices),
    )


def lower_picks(logits: Tensor, k: int, scratch: Scratch) -> list[Dispatch]:
    """The k best of each row of logits go to the state's picks, row by row."""
    stages = (
        launches.argmax_stages(logits.offset, logits.width, scratch.start, logits.rows)
        if k == 1
        else launches.top_k_stages(logits.offset, logits.width, k, scratch.start, logits.rows)
    )
    return _chain(stages, logits, scratch.part(scratch.size, "a search"))


def lower_draw(rows: int, k: int, run: int | None = None) -> Dispatch:
    """A token for each row from its k picks; the next of it, in runs that follow each other."""
    parameters = pack_params(
        "draw", k=k, drawn=(run or 0) * state.MAX_DRAW_ROWS, advances=int(run is not None)
    )
    return Dispatch("draw", parameters, (rows, 1, 1), 0, (PICKS,), (STATE,))


def lower_adjust(logits: Tensor, count: int) -> Dispatch:
    """What the state says of so many tokens is done to one row of logits."""
    parameters = pack_params("adjust", x=logits.offset, vocabulary=logits.width)
    groups = launches.thread_groups("adjust", count)
    return Dispatch("adjust", parameters, groups, 0, (logits.region,), (logits.region,))


def lower_mask(logits: Tensor, masks: Scratch) -> Dispatch:
    """Hides the tokens of each row of logits whose bits in `masks`, row by row, are not set."""
    vocabulary = logits.width
    parameters = pack_params("mask", x=logits.offset, vocabulary=vocabulary, masks=masks.start)
    groups = launches.thread_groups("mask", vocabulary, logits.rows)
    bits = masks.part(logits.rows * mask_words(vocabulary), "the masks")
    return Dispatch("mask", parameters, groups, 0, (logits.region, bits), (logits.region,))


def mask_words(vocabulary: int) -> int:
    """Of a row."""
    return launches.ceil_div(vocabulary, 32)


def _chain(stages: Sequence[SearchStage], logits: Tensor, lists: Region) -> list[Dispatch]:
    """Each stage reads what the one before it wrote, so all of the scratch counts as touched."""
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
