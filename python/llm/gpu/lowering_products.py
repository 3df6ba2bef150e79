"""Matrix products -> dispatches. By matrices, x is first brought to float16, once for all products
that read it, and sums over parts of k are added up afterwards."""

from collections.abc import Iterable, Sequence

from llm.gpu import state
from llm.gpu.dispatches import Dispatch, Scratch
from llm.gpu.kernels import pack_params
from llm.gpu.launches import thread_groups
from llm.gpu.launches_products import (
    ProductPlan,
    halves_floats,
    most_parts_floats,
    parts_floats,
    plan_product,
)
from llm.gpu.matrix_tiles import MatrixTile
from llm.gpu.operations import FLOAT_BYTES, MatMul, Region, Tensor
from llm.gpu.placement import Layout
from llm.gpu.tape import Tape

SIDE_BY_SIDE = 3  # products whose parts have room beside each other: query, key and value


def product_scratch_floats(tape: Tape, tiles: Sequence[MatrixTile]) -> int:
    """Floats of scratch that the products of a tape of the most rows need."""
    products = [op for op in tape.operations if isinstance(op, MatMul)]
    if not tiles or not products:
        return 0
    halves = max(halves_floats(op.x.width, op.x.rows) for op in products)
    return halves + SIDE_BY_SIDE * most_parts_floats(tiles)


class ProductLowering:
    """The products of one tape after the other; see Lowering.

    `scratch` starts at a multiple of four floats: the float16 rows, then sums of parts.
    """

    def __init__(
        self, layout: Layout, scratch: Scratch, tiles: Sequence[MatrixTile], *, is_cpu: bool
    ) -> None:
        self._layout = layout
        self._scratch = scratch
        self._tiles = tiles
        self._is_cpu = is_cpu
        self._halved: Tensor | None = None  # whose float16 rows are in the scratch
        self._sums_at = 0  # where in the scratch the sums of the next product may go

    def begin(self) -> None:
        """A new tape: nothing is in the scratch."""
        self._halved = None

    def notice(self, writes: Iterable[Region]) -> None:
        """What other operations write; their float16 rows are out of date."""
        if self._halved is not None and any(map(self._halved.region.overlaps, writes)):
            self._halved = None

    def lower(self, op: MatMul) -> list[Dispatch]:
        weight = op.weight
        plan = plan_product(
            weight.format.name,
            weight.rows,
            weight.columns,
            op.x.rows,
            is_cpu=self._is_cpu,
            tiles=self._tiles,
        )
        if plan.tile is None:
            reads = op.reads
            return [
                self._product(op, plan, op.x.offset, op.y.offset, op.residual, reads, op.writes)
            ]
        return [*self._halve(op), *self._multiply(op, plan)]

    def _halve(self, op: MatMul) -> list[Dispatch]:
        if self._halved == op.x:
            return []
        self._halved = op.x
        self._sums_at = halves_floats(op.x.width, op.x.rows)
        parameters = pack_params(
            "halve_rows",
            width=op.x.width,
            x=op.x.offset,
            y=self._scratch.start,
            count_at=int(op.count),
        )
        groups = (op.x.rows, 1, 1)
        return [Dispatch("halve_rows", parameters, groups, 0, (op.x.region,), (self._rows_of(op),))]

    def _multiply(self, op: MatMul, plan: ProductPlan) -> list[Dispatch]:
        rows, start = self._rows_of(op), self._scratch.start
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

    def _rows_of(self, op: MatMul) -> Region:
        return self._scratch.part(halves_floats(op.x.width, op.x.rows), "float16 rows")


def _offset(tensor: Tensor | None) -> int:
    return state.NONE if tensor is None else tensor.offset
