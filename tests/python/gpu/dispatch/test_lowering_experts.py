"""Experts as dispatches: lists where rows share them, and kernels that take what there is."""

import pytest
from support.architectures import qwen3moe

from llm.files.gguf import GgufFile
from llm.gpu.device.placement import place
from llm.gpu.dispatch.dispatches import Dispatch, Scratch
from llm.gpu.dispatch.hazards import HazardTracker
from llm.gpu.dispatch.launches_attend import AttendDevice
from llm.gpu.dispatch.launches_experts import plan_experts
from llm.gpu.dispatch.lowering import Lowering
from llm.gpu.dispatch.lowering_attend import AttendLowering
from llm.gpu.dispatch.lowering_products import ProductLowering, product_scratch_floats
from llm.gpu.dispatch.lowering_recurrent import RecurrentLowering
from llm.gpu.kernels.matrix_tiles import MATRIX_TILES, Tile
from llm.gpu.kernels.variants import KERNELS
from llm.gpu.operations import Weight
from llm.gpu.program import Program
from llm.models.registry import Limits, make_program
from llm.models.weights import F32


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    path = qwen3moe.write(tmp_path_factory.mktemp("models") / "tiny.gguf")
    return make_program(GgufFile.open(str(path)), Limits(96, 256, 1))


def lower(program: Program, rows: int, tiles: tuple[Tile, ...] = ()) -> list[Dispatch]:
    tape = program.record(rows, 1)
    constants = [Weight(name, F32, *value.shape) for name, value in program.constants.items()]
    layout = place([*constants, *program.weights])
    scratch = Scratch(-(-tape.work_floats // 4) * 4, product_scratch_floats(tape, tiles))
    products = ProductLowering(layout, scratch, tiles, is_cpu=False)
    attention = AttendLowering(Scratch(scratch.start + scratch.size, 1 << 24), AttendDevice(False))
    recurrent = RecurrentLowering(layout, 1, is_cpu=False)
    return Lowering(layout, products, attention, recurrent).lower(tape.operations)


def names(dispatches: list[Dispatch]) -> list[str]:
    """Of a layer's feed-forward, without the format and the sizes."""
    kernels = [dispatch.kernel for dispatch in dispatches]
    at = kernels.index("route")
    return [KERNELS[kernel].source.removesuffix(".comp") for kernel in kernels[at : at + 8]]


def test_one_token_has_no_lists(program: Program) -> None:
    found = names(lower(program, 1))
    assert found[:6] == ["route", "matvec", "matvec", "gated_unit", "matvec", "expert_sum"]


def test_lists_serve_all_products_of_a_layer(program: Program) -> None:
    found = names(lower(program, 64))
    products = ["matmul", "matmul", "gated_unit", "matmul", "expert_sum"]
    assert found[:7] == ["route", "list_experts", *products]


def test_by_matrices_gates_are_halved_as_they_are_made(program: Program) -> None:
    found = names(lower(program, 64, MATRIX_TILES))
    assert found == [
        "route",
        "list_experts",
        "halve_rows",
        "matmul_matrix",
        "matmul_matrix",
        "halve_rows",
        "matmul_matrix",
        "expert_sum",
    ]


def test_a_router_is_not_computed_in_float16(program: Program) -> None:
    dispatches = lower(program, 64, MATRIX_TILES)
    kernels = [dispatch.kernel for dispatch in dispatches]
    assert kernels[kernels.index("route") - 1] == "matmul_f32_32"


@pytest.mark.parametrize("tiles", [(), MATRIX_TILES], ids=["plain", "matrices"])
def test_products_wait_for_choice_and_lists(program: Program, tiles: tuple[Tile, ...]) -> None:
    hazards = HazardTracker()
    waits = {}
    for dispatch in lower(program, 64, tiles):
        waited = hazards.add(dispatch.reads, dispatch.writes)
        waits.setdefault(KERNELS[dispatch.kernel].source, waited)
    assert waits["route.comp"]
    assert waits["list_experts.comp"]
    assert waits["expert_sum.comp"]


@pytest.mark.parametrize(
    ("pairs", "columns"), [(8, 1), (128, 1), (256, 16), (2048, 32), (4096, 64), (40960, 64)]
)
def test_tiles_are_as_wide_as_most_experts_need(pairs: int, columns: int) -> None:
    plan = plan_experts("q4_k", 768, 2048, pairs, 128, is_cpu=False, tiles=MATRIX_TILES)
    assert plan.size == columns
    assert (plan.tile is None) == (columns == 1)


@pytest.mark.parametrize("is_cpu", [True, False])
@pytest.mark.parametrize("pairs", [1, 7, 8, 3000])
def test_every_pair_has_a_group(pairs: int, is_cpu: bool) -> None:
    """However the rows choose: at worst every expert has a tile that is not full."""
    plan = plan_experts("f32", 37, 96, pairs, 7, is_cpu=is_cpu)
    assert plan.kernel in KERNELS
    assert plan.groups[1] >= pairs if plan.size == 1 else plan.groups[1] * plan.size >= pairs + 7
    kernel = KERNELS[plan.kernel]
    rows = {"matvec.comp": kernel.group_size // plan.threads_per_row, "matmul_rows.comp": 32}
    assert plan.groups[0] * rows.get(kernel.source, 64) >= 37


def test_rows_of_odd_width_are_refused() -> None:
    with pytest.raises(ValueError, match="rows of 100 weights"):
        plan_experts("f32", 8, 100, 1, 4, is_cpu=False)


def test_experts_of_a_large_file_fit_a_weight_buffer() -> None:
    """All experts of a matrix lie in one: here those of 30B-A3B, 113 MB."""
    weight = Weight("w", F32, 128 * 768, 2048)
    assert sum(place([weight]).shard_words) * 4 < 1 << 30
