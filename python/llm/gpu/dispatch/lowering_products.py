"""Matrix products -> dispatches. By matrices, x is first brought to float16, once for all products
that read it, together with the norm or the gated unit before it; and sums over parts of k are added
up afterwards. By lanes, weights and x are read through their addresses."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from llm.gpu import state
from llm.gpu.device.placement import Layout
from llm.gpu.dispatch.dispatches import Dispatch, Scratch
from llm.gpu.dispatch.launches import thread_groups
from llm.gpu.dispatch.launches_experts import ExpertPlan, plan_experts
from llm.gpu.dispatch.launches_products import (
    ProductPlan,
    halves_floats,
    most_parts_floats,
    parts_floats,
    plan_product,
)
from llm.gpu.kernels.addresses import plane_fields, words_of
from llm.gpu.kernels.matrix_tiles import Tile
from llm.gpu.kernels.variants import pack_params
from llm.gpu.operations import (
    FLOAT_BYTES,
    Count,
    ExpertMatMul,
    GatedUnit,
    MatMul,
    Operation,
    Region,
    RMSNorm,
    Route,
    Tensor,
)
from llm.gpu.tape import Tape

WORD = 4  # bytes
SIDE_BY_SIDE = 3  # products whose parts have room beside each other: query, key and value


def product_scratch_floats(tape: Tape, tiles: Sequence[Tile]) -> int:
    """Floats of scratch that the products of a tape of the most rows need."""
    inputs = [_input(op) for op in tape.operations if isinstance(op, MatMul | ExpertMatMul)]
    if not tiles or not inputs:
        return 0
    halves = max(halves_floats(x.width, x.rows) for x in inputs)
    return halves + SIDE_BY_SIDE * most_parts_floats(tiles)


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where buffers begin, as kernels name it."""

    work: int
    cache: int
    shards: tuple[int, ...]  # of weights


class ProductLowering:
    """The products of one tape after the other; see Lowering.

    `scratch` starts at a multiple of four floats: the float16 rows, then sums of parts.
    `addresses`: of a device that has lanes; else None.
    """

    def __init__(
        self,
        layout: Layout,
        scratch: Scratch,
        tiles: Sequence[Tile],
        *,
        is_cpu: bool,
        addresses: Addresses | None = None,
    ) -> None:
        self._layout = layout
        self._scratch = scratch
        self._tiles = tiles
        self._is_cpu = is_cpu
        self.addresses = addresses
        self._halved: Tensor | None = None  # whose float16 rows are in the scratch
        self._sums_at = 0  # where in the scratch the sums of the next product may go
        self._scores: set[Tensor] = set()

    def begin(self, operations: Sequence[Operation]) -> None:
        """A new tape: nothing is in the scratch.

        Float16 could turn a choice of experts, so what routers read is not computed by matrices.
        """
        self._halved = None
        self._scores = {op.logits for op in operations if isinstance(op, Route)}

    def notice(self, writes: Iterable[Region]) -> None:
        """What an operation is about to write; float16 rows of it are out of date."""
        if self._halved is not None and any(map(self._halved.region.overlaps, writes)):
            self._halved = None

    def absorb(self, op: RMSNorm | GatedUnit, later: Sequence[Operation]) -> Dispatch | None:
        """`op` as float16 rows, where only products read it, and come next; else None."""
        readers = _readers(op.y, later)
        following = [it for it in later if not isinstance(it, Route)]  # which leaves the rows alone
        are_next = readers == following[: len(readers)]
        if not readers or not are_next or not all(self._reads_halves(it, op.y) for it in readers):
            return None
        if isinstance(op, GatedUnit):
            if op.up.stride != op.up.width:
                return None
            x = _input(readers[0])
            gated = {"up": op.up.offset, "activation": int(op.activation)}
            gated["each"] = x.rows // op.y.rows
            return self._halve("halve_gated", op.gate, x, Count.ROWS, op.reads, **gated)
        if op.residual is not None or op.weight is None or not op.is_plain:
            return None
        placement = self._layout.placements[op.weight.name]
        normed = {"norm": placement.planes[0], "eps": op.eps}
        found = self._halve("halve_normed", op.x, op.y, op.count, op.reads, **normed)
        return replace(found, shard=placement.shard)

    def lower(self, op: MatMul) -> list[Dispatch]:
        plan = self._plan(op)
        if plan.by_lanes:
            return [self._by_lanes(op, plan)]
        if plan.tile is None:
            reads = op.reads
            return [
                self._product(op, plan, op.x.offset, op.y.offset, op.residual, reads, op.writes)
            ]
        return [*self.halve(op.x, op.count), *self._multiply(op, plan)]

    def halve(self, x: Tensor, count: Count, each: int = 1) -> list[Dispatch]:
        """Float16 rows of x, `each` for one that is counted; nothing where they are there."""
        if self._halved == x:
            return []
        return [self._halve("halve_rows", x, x, count, (x.region,), each=each)]

    def _plan(self, op: MatMul) -> ProductPlan:
        weight = op.weight
        return plan_product(
            weight.format.name,
            weight.rows,
            weight.columns,
            op.x.rows,
            is_cpu=self._is_cpu,
            has_lanes=self.addresses is not None,
            tiles=() if op.y in self._scores else self._tiles,
        )

    def plan_experts(self, op: ExpertMatMul) -> ExpertPlan:
        return plan_experts(
            op.weight.format.name,
            op.height,
            op.weight.columns,
            op.choice.pairs,
            op.choice.experts,
            is_cpu=self._is_cpu,
            has_lanes=self.addresses is not None,
            tiles=self._tiles,
        )

    def _reads_halves(self, op: Operation, x: Tensor) -> bool:
        """Whether it is a product by matrices that reads nothing of x but its float16 rows."""
        if isinstance(op, ExpertMatMul):
            return op.x == x and self.plan_experts(op).tile is not None
        if not isinstance(op, MatMul) or op.x != x or self._plan(op).tile is None:
            return False
        return op.residual is None or not op.residual.region.overlaps(x.region)

    def _halve(
        self,
        kernel: str,
        source: Tensor,
        x: Tensor,
        count: Count,
        reads: tuple[Region, ...],
        **fields: int | float,
    ) -> Dispatch:
        """The float16 rows of `x`, made from `source`."""
        self._halved = x
        self._sums_at = halves_floats(x.width, x.rows)
        unused = {"up": state.NONE, "activation": 0, "norm": state.NONE, "eps": 0.0, "each": 1}
        parameters = pack_params(
            kernel,
            width=x.width,
            x=source.offset,
            y=self._scratch.start,
            count_at=int(count),
            **{**unused, **fields},
        )
        return Dispatch(kernel, parameters, (x.rows, 1, 1), 0, reads, (self.rows_of(x),))

    def _multiply(self, op: MatMul, plan: ProductPlan) -> list[Dispatch]:
        rows, start = self.rows_of(op.x), self._scratch.start
        size = parts_floats(op.y.width, op.y.rows, plan.parts)
        if size == 0:
            reads = (rows, *op.reads[1:])
            return [self._product(op, plan, start, op.y.offset, op.residual, reads, op.writes)]
        if self._sums_at + size > self._scratch.size:
            self._sums_at = halves_floats(op.x.width, op.x.rows)
        sums = self._scratch.part(size, "the sums of a product", self._sums_at)
        self._sums_at += size
        sums_at = sums.start // FLOAT_BYTES
        parameters = pack_params(
            "sum_parts",
            parts=sums_at,
            y=op.y.offset,
            residual=_offset(op.residual),
            n_parts=plan.parts,
            width=op.y.width,
            count_at=int(op.count),
        )
        groups = thread_groups("sum_parts", op.y.rows * op.y.width)
        return [
            self._product(op, plan, start, sums_at, None, (rows,), (sums,)),
            Dispatch("sum_parts", parameters, groups, 0, (sums, *op.reads[1:]), op.writes),
        ]

    def _product(
        self,
        op: MatMul,
        plan: ProductPlan,
        x: int,
        y: int,
        residual: Tensor | None,
        reads: tuple[Region, ...],
        writes: tuple[Region, ...],
    ) -> Dispatch:
        placement = self._layout.placements[op.weight.name]
        parameters = pack_params(
            plan.kernel,
            planes=placement.four_planes,
            height=op.weight.rows,
            width=op.weight.columns,
            x=x,
            y=y,
            residual=_offset(residual),
            count_at=int(op.count),
            threads_per_row=plan.threads_per_row,
        )
        return Dispatch(plan.kernel, parameters, plan.groups, placement.shard, reads, writes)

    def _by_lanes(self, op: MatMul, plan: ProductPlan) -> Dispatch:
        assert self.addresses is not None
        placement = self._layout.placements[op.weight.name]
        shard = self.addresses.shards[placement.shard]
        planes = [shard + plane * WORD for plane in placement.four_planes]
        parameters = pack_params(
            plan.kernel,
            **plane_fields(planes),
            x=words_of(self.addresses.work + op.x.offset * WORD),
            height=op.weight.rows,
            width=op.weight.columns,
            y=op.y.offset,
            residual=_offset(op.residual),
            count_at=int(op.count),
        )
        return Dispatch(plan.kernel, parameters, plan.groups, placement.shard, op.reads, op.writes)

    def rows_of(self, x: Tensor) -> Region:
        """Where the float16 rows of x lie."""
        return self._scratch.part(halves_floats(x.width, x.rows), "float16 rows")


def _input(op: Operation) -> Tensor:
    """The rows that a product multiplies."""
    assert isinstance(op, MatMul | ExpertMatMul)
    return op.x if isinstance(op, MatMul) else op.inputs


def _readers(tensor: Tensor, later: Iterable[Operation]) -> list[Operation]:
    """The operations that read any of the tensor, up to the one that writes all of it again."""
    region, found = tensor.region, []
    for op in later:
        if any(map(region.overlaps, op.reads)):
            found.append(op)
        if any(write.covers(region) for write in op.writes):
            break
    return found


def _offset(tensor: Tensor | None) -> int:
    return state.NONE if tensor is None else tensor.offset
