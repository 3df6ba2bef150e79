"""Plans of matrix products cover what they should, whatever the sizes."""

import pytest

from llm.gpu.dispatch.launches_products import (
    GROUP_LIMIT,
    most_parts_floats,
    parts_floats,
    plan_product,
)
from llm.gpu.kernels.kernel import FORMAT_IDS
from llm.gpu.kernels.matrix_tiles import (
    FEW_TILES,
    MATRIX_TILES,
    SMALL_MATRIX_TILES,
    MatrixTile,
)
from llm.gpu.kernels.variants import KERNELS, LANES_ROWS, MATMUL_ROWS_ROWS


@pytest.mark.parametrize("columns", [1, 2, 8, 9, 16, 17, 256])
@pytest.mark.parametrize(("height", "width"), [(1, 32), (256, 640), (37, 96), (262144, 640)])
@pytest.mark.parametrize("is_cpu", [True, False])
def test_plan_product(height: int, width: int, columns: int, is_cpu: bool) -> None:
    plan = plan_product("q8_0", height, width, columns, is_cpu=is_cpu)
    kernel = KERNELS[plan.kernel]
    if kernel.source == "matmul.comp":
        rows, tile = kernel.defines["TILE_ROWS"], kernel.defines["TILE_COLUMNS"]
    elif kernel.source == "matvec.comp":
        assert plan.threads_per_row in (1, 2, 4, 8, 16, 32)
        rows, tile = kernel.group_size // plan.threads_per_row, kernel.defines["COLUMNS"]
        assert columns <= tile
    else:
        rows, tile = kernel.group_size * MATMUL_ROWS_ROWS, kernel.defines["COLUMNS"]
    across, down, _ = plan.groups
    assert (across - 1) * rows < height <= across * rows
    assert (down - 1) * tile < columns <= down * tile
    assert max(plan.groups) <= GROUP_LIMIT


@pytest.mark.parametrize(
    ("height", "width", "columns", "kernel"),
    [
        pytest.param(37, 640, 1, "matvec_lanes_q8_0_4_1", id="four parts at once"),
        pytest.param(37, 96, 1, "matvec_lanes_q8_0_1_1", id="an odd number of parts"),
        pytest.param(37, 192, 1, "matvec_lanes_q8_0_2_1", id="an even number of parts"),
        pytest.param(37, 640, 2, "matvec_lanes_q8_0_4_2", id="two columns"),
        pytest.param(37, 640, 3, "matvec_lanes_q8_0_4_4", id="up to four"),
        pytest.param(37, 640, 5, "matmul_rows_q8_0_8", id="too many columns"),
        pytest.param(8 * 65535, 640, 1, "matvec_lanes_q8_0_4_1", id="as many rows as groups"),
        pytest.param(8 * 65535 + 1, 640, 1, "matvec_lanes_q8_0_4_1", id="more rows"),
        pytest.param(262_144, 640, 4, "matvec_lanes_q8_0_4_4", id="many rows, four columns"),
    ],
)
def test_plan_by_lanes(height: int, width: int, columns: int, kernel: str) -> None:
    plan = plan_product("q8_0", height, width, columns, is_cpu=True, has_lanes=True)
    assert plan.kernel == kernel
    assert plan.by_lanes == kernel.startswith("matvec_lanes")
    assert max(plan.groups) <= GROUP_LIMIT
    if plan.by_lanes:
        across, down, _ = plan.groups
        rows = LANES_ROWS[int(KERNELS[kernel].defines["COLUMNS"])]
        assert height <= rows * across * down < height + rows * (down + 1)


@pytest.mark.parametrize("name", FORMAT_IDS)
@pytest.mark.parametrize("is_cpu", [True, False])
def test_plan_product_keeps_the_format(name: str, is_cpu: bool) -> None:
    for columns in (1, 8, 256):
        plan = plan_product(name, 64, 256, columns, is_cpu=is_cpu)
        assert KERNELS[plan.kernel].defines["FORMAT"] == name


def test_a_narrow_product_still_fills_a_large_gpu() -> None:
    plan = plan_product("q4_k", 640, 1024, 1, is_cpu=False)
    assert plan.groups[0] >= 132


@pytest.mark.parametrize(
    ("height", "columns", "tile"),
    [
        pytest.param(640, 256, 32, id="few tiles"),
        pytest.param(4096, 256, 64, id="many tiles"),
        pytest.param(262144, 32, 32, id="few columns"),
    ],
)
def test_tile_of_a_matrix_product(height: int, columns: int, tile: int) -> None:
    assert plan_product("q4_k", height, 512, columns, is_cpu=False).kernel == f"matmul_q4_k_{tile}"


@pytest.mark.parametrize("tiles", [MATRIX_TILES, SMALL_MATRIX_TILES], ids=["large", "small"])
@pytest.mark.parametrize("columns", [2, 8, 9, 16, 17, 32, 256, 511])
@pytest.mark.parametrize(
    ("height", "width"), [(1, 32), (256, 640), (37, 96), (4096, 14336), (262144, 640)]
)
def test_plan_of_matrices(
    height: int, width: int, columns: int, tiles: tuple[MatrixTile, ...]
) -> None:
    plan = plan_product("q6_k", height, width, columns, is_cpu=False, tiles=tiles)
    tile = plan.tile
    assert tile in tiles
    kernel = KERNELS[plan.kernel]
    assert kernel.source == "matmul_matrix.comp"
    assert kernel.defines["FORMAT"] == "q6_k"
    assert (kernel.defines["TILE_ROWS"], kernel.defines["TILE_COLUMNS"]) == (
        tile.rows,
        tile.columns,
    )
    across, down, parts = plan.groups
    assert (across - 1) * tile.columns < columns <= across * tile.columns
    assert (down - 1) * tile.rows < height <= down * tile.rows
    assert plan.parts == parts
    assert parts == 1 or width // parts >= 256
    assert parts_floats(height, columns, parts) <= most_parts_floats(tiles)
    assert max(plan.groups) <= GROUP_LIMIT


@pytest.mark.parametrize(("columns", "tile"), [(2, 0), (8, 0), (9, 1), (16, 1), (17, None)])
@pytest.mark.parametrize("name", FORMAT_IDS)
@pytest.mark.parametrize(
    ("height", "width"), [(1, 32), (256, 640), (4096, 4096), (4096, 14336), (262144, 640)]
)
def test_plan_of_few_columns(
    height: int, width: int, name: str, columns: int, tile: int | None
) -> None:
    tiles = (*MATRIX_TILES, *FEW_TILES)
    plan = plan_product(name, height, width, columns, is_cpu=False, tiles=tiles)
    if tile is None:
        assert isinstance(plan.tile, MatrixTile)
        return
    assert plan.tile == FEW_TILES[tile]
    kernel = KERNELS[plan.kernel]
    assert kernel.source == "matmul_few.comp"
    assert (kernel.defines["FORMAT"], kernel.defines["COLUMNS"]) == (
        name,
        FEW_TILES[tile].columns,
    )
    assert plan.groups == (1, -(-height // 16), 1)
    assert max(plan.groups) <= GROUP_LIMIT


def test_room_for_parts_of_few_columns() -> None:
    """Their subgroups share k."""
    assert most_parts_floats(FEW_TILES) == 0
    assert most_parts_floats((*MATRIX_TILES, *FEW_TILES)) == most_parts_floats(MATRIX_TILES)


def test_one_column_needs_no_matrices() -> None:
    tiles = (*MATRIX_TILES, *FEW_TILES)
    plan = plan_product("q4_k", 4096, 4096, 1, is_cpu=False, tiles=tiles)
    assert KERNELS[plan.kernel].source == "matvec.comp"
    assert plan.tile is None


@pytest.mark.parametrize(
    ("height", "width", "columns", "tile", "parts"),
    [
        pytest.param(14336, 4096, 512, 0, 1, id="many tiles"),
        pytest.param(1024, 4096, 512, 0, 4, id="few tiles"),
        pytest.param(2048, 640, 512, 1, 1, id="a short sum"),
        pytest.param(4096, 4096, 32, 2, 6, id="few columns"),
        pytest.param(4096, 4096, 16, 3, 8, id="a tile of them"),
        pytest.param(14336, 4096, 2, 3, 2, id="two columns"),
        pytest.param(128256, 2048, 8, 3, 1, id="very many rows"),
    ],
)
def test_tile_of_matrices(height: int, width: int, columns: int, tile: int, parts: int) -> None:
    """As measured on an H200: docs/lab_notes.md."""
    plan = plan_product("q4_k", height, width, columns, is_cpu=False, tiles=MATRIX_TILES)
    assert plan.tile == MATRIX_TILES[tile]
    assert plan.parts == parts


@pytest.mark.parametrize("tile", MATRIX_TILES + SMALL_MATRIX_TILES)
def test_a_tile_is_whole_subgroups(tile: MatrixTile) -> None:
    assert tile.group_size <= 512
    assert tile.rows % tile.sub_rows == tile.columns % tile.sub_columns == 0
    assert {tile.sub_rows, tile.sub_columns} <= {16, 32}  # what the kernel has macros for
    sums = tile.group_size // tile.subgroup_size * 16 * 5 * 16  # bytes, on their way out
    assert sums <= tile.shared_memory
