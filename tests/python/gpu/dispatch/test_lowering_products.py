"""Products by matrices: x is halved once, and nothing is overwritten while it is read."""

import struct
from dataclasses import replace

import pytest

from llm.files.formats import FORMATS
from llm.gpu.device.placement import place
from llm.gpu.dispatch.dispatches import Dispatch, Scratch
from llm.gpu.dispatch.hazards import HazardTracker
from llm.gpu.dispatch.lowering_products import Addresses, ProductLowering, product_scratch_floats
from llm.gpu.kernels.matrix_tiles import MATRIX_TILES, MatrixTile
from llm.gpu.kernels.variants import KERNELS
from llm.gpu.operations import (
    Activation,
    Count,
    GatedUnit,
    MatMul,
    Operation,
    RMSNorm,
    Tensor,
    Weight,
)
from llm.gpu.tape import Tape

ROWS = 256
Q8_0 = FORMATS[8]
WEIGHTS = {
    "q": Weight("q", Q8_0, 1024, 2048),
    "k": Weight("k", Q8_0, 256, 2048),
    "v": Weight("v", Q8_0, 256, 2048),
    "o": Weight("o", Q8_0, 2048, 1024),
    "up": Weight("up", Q8_0, 40000, 2048),
}
NORM = Weight("norm", FORMATS[0], 1, 2048)
X = Tensor(0, ROWS, 2048)
Q, K, V = (Tensor(1_000_000 * n, ROWS, WEIGHTS[name].rows) for n, name in enumerate("qkv", 1))
OUT = Tensor(4_000_000, ROWS, 2048)


def product(name: str, x: Tensor, y: Tensor, residual: Tensor | None = None) -> MatMul:
    return MatMul(WEIGHTS[name], x, y, residual, Count.ROWS)


LAYER = [product("q", X, Q), product("k", X, K), product("v", X, V), product("o", Q, OUT, OUT)]


def lowering(
    tiles: tuple[MatrixTile, ...] = MATRIX_TILES, size: int | None = None
) -> ProductLowering:
    tape = Tape(ROWS, ROWS, list(LAYER))
    scratch = Scratch(8_000_000, product_scratch_floats(tape, tiles) if size is None else size)
    return ProductLowering(place([*WEIGHTS.values(), NORM]), scratch, tiles, is_cpu=False)


def lower(products: ProductLowering, ops: list[MatMul]) -> list[Dispatch]:
    products.begin(ops)
    found: list[Dispatch] = []
    for op in ops:
        found += products.lower(op)
        products.notice(op.writes)
    return found


def kernels(dispatches: list[Dispatch]) -> list[str]:
    return [KERNELS[dispatch.kernel].source.removesuffix(".comp") for dispatch in dispatches]


def fields(dispatch: Dispatch) -> dict[str, int]:
    kernel = KERNELS[dispatch.kernel]
    values = list(struct.unpack(kernel.struct_format, dispatch.parameters))
    named = {}
    for name, code in kernel.params.items():
        count = int(code[:-1] or 1)
        named[name], values = values[0], values[count:]
    return named


def test_x_is_halved_once_for_all_that_read_it() -> None:
    found = kernels(lower(lowering(), LAYER))
    assert found == [
        "halve_rows",
        *["matmul_matrix", "sum_parts"] * 3,
        "halve_rows",
        *["matmul_matrix", "sum_parts"],
    ]


def test_x_is_halved_again_after_a_change() -> None:
    again = product("o", Q, X)  # writes what q read
    assert kernels(lower(lowering(), [LAYER[0], again, LAYER[0]])).count("halve_rows") == 3


def test_a_new_tape_halves_again() -> None:
    products = lowering()
    first = lower(products, LAYER[:1])
    assert lower(products, LAYER[:1]) == first


def test_products_of_one_x_run_beside_each_other() -> None:
    dispatches = lower(lowering(), LAYER[:3])
    multiply = [d for d in dispatches if d.kernel.startswith("matmul_matrix")]
    hazards = HazardTracker()
    assert not any(hazards.add(d.reads, d.writes) for d in multiply)


def test_without_room_beside_each_other_they_wait() -> None:
    products = lowering()
    (_, multiply, _) = lower(products, LAYER[:1])
    (sums,) = multiply.writes
    rows = multiply.reads[0]
    room = (sums.end - sums.start + rows.end - rows.start) // 4
    tight = lowering(size=room)
    firsts = [d for d in lower(tight, LAYER[:2]) if d.kernel.startswith("matmul_matrix")]
    hazards = HazardTracker()
    assert [hazards.add(d.reads, d.writes) for d in firsts] == [False, True]
    with pytest.raises(ValueError, match="of scratch"):
        lower(lowering(size=room - 1), LAYER[:1])


def test_each_reads_what_the_one_before_wrote() -> None:
    halve, multiply, add = lower(lowering(), [product("o", Q, OUT, OUT)])
    assert (halve.reads, halve.writes[0]) == ((Q.region,), multiply.reads[0])
    assert multiply.writes[0] == add.reads[0]
    assert add.reads[1:] == (OUT.region,)
    assert add.writes == (OUT.region,)
    halved, multiplied, added = fields(halve), fields(multiply), fields(add)
    assert halved["y"] == multiplied["x"] == multiply.reads[0].start // 4
    assert multiplied["y"] == added["parts"] == multiply.writes[0].start // 4
    assert multiplied["residual"] == 0xFFFFFFFF
    assert added["residual"] == added["y"] == OUT.offset
    assert added["n_parts"] == multiply.groups[2] > 1


def test_one_part_writes_its_result_itself() -> None:
    y = Tensor(20_000_000, ROWS, 40000)
    _, multiply = lower(lowering(), [product("up", X, y, y)])
    assert multiply.groups[2] == 1
    assert multiply.writes == (y.region,)
    assert multiply.reads[1:] == (y.region,)
    assert fields(multiply)["residual"] == fields(multiply)["y"] == y.offset


STREAM = Tensor(30_000_000, ROWS, 2048)
NORMED = RMSNorm(NORM, STREAM, X, None, 1e-6, Count.ROWS)
GATED = GatedUnit(Q, K, Q, Activation.SILU)


def test_a_norm_is_halved_as_it_is_made() -> None:
    products = lowering()
    products.begin(LAYER)
    halve = products.absorb(NORMED, LAYER)
    assert halve is not None
    assert halve.kernel == "halve_normed"
    assert halve.reads == (STREAM.region,)
    assert fields(halve)["x"] == STREAM.offset
    assert kernels(products.lower(LAYER[0])) == ["matmul_matrix", "sum_parts"]


def test_a_gated_unit_is_halved_as_it_is_made() -> None:
    products = lowering()
    products.begin(LAYER)
    halve = products.absorb(GATED, LAYER[3:])
    assert halve is not None
    assert halve.reads == GATED.reads
    assert (fields(halve)["x"], fields(halve)["up"]) == (Q.offset, K.offset)
    assert kernels(products.lower(LAYER[3])) == ["matmul_matrix", "sum_parts"]


@pytest.mark.parametrize(
    ("norm", "later"),
    [
        pytest.param(NORMED, [], id="nothing reads it"),
        pytest.param(NORMED, [LAYER[0], LAYER[3], LAYER[1]], id="another product between"),
        pytest.param(NORMED, [LAYER[0], replace(NORMED, x=X, y=OUT)], id="a norm reads it"),
        pytest.param(NORMED, [product("q", X, Q, X)], id="it is a residual, too"),
        pytest.param(replace(NORMED, residual=OUT), LAYER, id="it has a residual"),
        pytest.param(
            NORMED, [product("q", replace(X, width=1024), Q)], id="another shape of it is read"
        ),
    ],
)
def test_other_norms_stay(norm: RMSNorm, later: list[Operation]) -> None:
    assert lowering().absorb(norm, later) is None
    assert lowering(()).absorb(NORMED, LAYER) is None


def test_readers_end_where_all_is_written_again() -> None:
    again = [LAYER[0], NORMED, LAYER[3], LAYER[1]]
    assert lowering().absorb(NORMED, again) is not None


def test_without_matrices() -> None:
    dispatches = lower(lowering(()), LAYER)
    assert kernels(dispatches) == ["matmul"] * 4
    assert [d.reads for d in dispatches] == [op.reads for op in LAYER]
    assert product_scratch_floats(Tape(ROWS, ROWS, list(LAYER)), ()) == 0


def test_by_lanes_reads_through_addresses() -> None:
    """Where a shard or the work buffer begins, and how far behind that the operand lies."""
    layout = place([*WEIGHTS.values(), NORM])
    addresses = Addresses(work=0x1_0000_0000, cache=0, shards=(0x2_FFFF_FF00,))
    products = ProductLowering(layout, Scratch(0, 0), (), is_cpu=True, addresses=addresses)
    x, y = Tensor(8, 1, 2048), Tensor(4096, 1, 1024)
    (found,) = lower(products, [product("q", x, y, y)])
    assert KERNELS[found.kernel].source == "matvec_lanes.comp"
    assert (found.reads, found.writes) == ((x.region, y.region), (y.region,))
    words = struct.unpack(KERNELS[found.kernel].struct_format, found.parameters)
    starts = [0x2_FFFF_FF00 + 4 * at for at in layout.placements["q"].four_planes]
    starts.append(0x1_0000_0000 + 4 * 8)
    assert [words[2 * i] + (words[2 * i + 1] << 32) for i in range(5)] == starts
    assert words[10:] == (1024, 2048, 4096, 4096, int(Count.ROWS))
    (several,) = lower(products, [product("q", replace(x, rows=5), replace(y, rows=5))])
    assert KERNELS[several.kernel].source == "matmul_rows.comp"
