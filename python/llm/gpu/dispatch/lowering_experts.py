"""Experts -> dispatches. Where rows share experts, a dispatch first lists the rows of each."""

from typing import Any

from llm.gpu import state
from llm.gpu.device.placement import Layout
from llm.gpu.dispatch.dispatches import Dispatch
from llm.gpu.dispatch.launches import thread_groups
from llm.gpu.dispatch.launches_experts import ExpertPlan
from llm.gpu.dispatch.lowering_products import WORD, ProductLowering
from llm.gpu.kernels.addresses import words_of
from llm.gpu.kernels.variants import pack_params
from llm.gpu.operations import Choice, Count, ExpertMatMul, ExpertSum, GatedAdd, Route, Weight


class ExpertLowering:
    """The experts of one tape after the other; see Lowering."""

    def __init__(self, layout: Layout, products: ProductLowering) -> None:
        self._layout = layout
        self._products = products
        self._listed: tuple[Choice, int] | None = None  # whose lists are there, in tiles of a size

    def begin(self) -> None:
        """A new tape: nothing is listed."""
        self._listed = None

    def route(self, op: Route) -> Dispatch:
        self._listed = None
        parameters = pack_params(
            "route",
            logits=op.logits.offset,
            choice=op.choice.rows.offset,
            bias=state.NONE if op.bias is None else self._planes(op.bias)[0],
            gains=state.NONE if op.gains is None else self._planes(op.gains)[0],
            experts=op.choice.experts,
            used=op.choice.used,
            scoring=int(op.scoring),
            normalised=int(op.normalised),
            scale=op.scale,
        )
        groups = (op.logits.rows, 1, 1)  # and shard 0, where vectors are
        return Dispatch("route", parameters, groups, 0, op.reads, op.writes)

    def multiply(self, op: ExpertMatMul) -> list[Dispatch]:
        plan = self._products.plan_experts(op)
        before = [] if plan.size == 1 else self._list(op.choice, plan.size)
        if plan.tile is not None:
            before += self._products.halve(op.inputs, Count.ROWS, op.inputs.rows // op.x.rows)
        made = self._by_lanes(op, plan) if plan.by_lanes else self._product(op, plan)
        return [*before, made, *self._add_bias(op)]

    def sum_up(self, op: ExpertSum) -> Dispatch:
        parameters = pack_params(
            "expert_sum",
            x=op.x.offset,
            choice=op.choice.rows.offset,
            y=op.y.offset,
            residual=state.NONE if op.residual is None else op.residual.offset,
            used=op.choice.used,
            width=op.y.width,
        )
        groups = thread_groups("expert_sum", op.y.width, op.y.rows)
        return Dispatch("expert_sum", parameters, groups, 0, op.reads, op.writes)

    def add_gated(self, op: GatedAdd) -> Dispatch:
        parameters = pack_params(
            "gated_add",
            x=op.x.offset,
            gate=op.gate.offset,
            y=op.y.offset,
            residual=op.residual.offset,
            width=op.y.width,
        )
        groups = thread_groups("gated_add", op.y.width, op.y.rows)
        return Dispatch("gated_add", parameters, groups, 0, op.reads, op.writes)

    def _list(self, choice: Choice, size: int) -> list[Dispatch]:
        if self._listed == (choice, size):
            return []
        self._listed = choice, size
        parameters = pack_params(
            "list_experts",
            choice=choice.rows.offset,
            used=choice.used,
            experts=choice.experts,
            size=size,
            lists=choice.lists.offset,
            pairs=choice.pairs_at,
        )
        reads, writes = (choice.region,), (choice.lists.region,)
        return [Dispatch("list_experts", parameters, (1, 1, 1), 0, reads, writes)]

    def _product(self, op: ExpertMatMul, plan: ExpertPlan) -> Dispatch:
        rows = op.x.region if plan.tile is None else self._products.rows_of(op.inputs)
        parameters = pack_params(
            plan.kernel,
            planes=self._planes(op.weight),
            x=op.x.offset if plan.tile is None else rows.start // WORD,
            lists=op.choice.lists.offset,
            pairs=op.choice.pairs_at,
            threads_per_row=plan.threads_per_row,
            **_sizes(op),
        )
        shard = self._layout.placements[op.weight.name].shard
        reads = (rows, op.choice.region, op.choice.lists.region)
        return Dispatch(plan.kernel, parameters, plan.groups, shard, reads, op.writes)

    def _by_lanes(self, op: ExpertMatMul, plan: ExpertPlan) -> Dispatch:
        addresses = self._products.addresses
        assert addresses is not None
        shard = self._layout.placements[op.weight.name].shard
        planes = [
            words_of(addresses.shards[shard] + plane * WORD) for plane in self._planes(op.weight)
        ]
        parameters = pack_params(
            plan.kernel,
            **dict(zip(("plane_x", "plane_y", "plane_z", "plane_w"), planes, strict=True)),
            x=words_of(addresses.work + op.x.offset * WORD),
            **_sizes(op),
        )
        return Dispatch(plan.kernel, parameters, plan.groups, shard, op.reads, op.writes)

    def _add_bias(self, op: ExpertMatMul) -> list[Dispatch]:
        if op.bias is None:
            return []
        parameters = pack_params(
            "expert_bias",
            bias=self._planes(op.bias)[0],
            y=op.y.offset,
            choice=op.choice.rows.offset,
            used=op.choice.used,
            height=op.height,
        )
        groups = thread_groups("expert_bias", op.y.width, op.y.rows)
        shard = self._layout.placements[op.bias.name].shard
        reads = (op.choice.region, *op.writes)
        return [Dispatch("expert_bias", parameters, groups, shard, reads, op.writes)]

    def _planes(self, weight: Weight) -> tuple[int, int, int, int]:
        return self._layout.placements[weight.name].four_planes


def _sizes(op: ExpertMatMul) -> dict[str, Any]:
    return {
        "height": op.height,
        "width": op.weight.columns,
        "y": op.y.offset,
        "choice": op.choice.rows.offset,
        "used": op.choice.used,
        "inputs": op.inputs.rows // op.x.rows,
    }
