"""No kernel asks for more shared memory than every desktop driver has."""

import pytest
from support.glsl_constants import shared_bytes

from llm.gpu.kernels.attend_tiles import SAMPLE_TILES, AttendMatrixTile
from llm.gpu.kernels.kernel import FORMAT_IDS
from llm.gpu.kernels.matrix_tiles import FEW_TILES, MATRIX_TILES, SMALL_MATRIX_TILES
from llm.gpu.kernels.resident import MATRIX_LANES, columns_shared_bytes
from llm.gpu.kernels.shader_source import expand
from llm.gpu.kernels.variants import KERNELS

LIMIT = 32 * 1024  # bytes
TILES = {  # of matrices, which only devices with as much use
    tile.kernel(name): tile.shared_memory
    for tile in MATRIX_TILES + SMALL_MATRIX_TILES + FEW_TILES
    for name in FORMAT_IDS
} | {tile.kernel: tile.shared_memory for tile in SAMPLE_TILES if isinstance(tile, AttendMatrixTile)}
RESIDENT = {
    f"columns_{columns}": columns_shared_bytes(
        columns=columns, subgroup_size=MATRIX_LANES, head_size=256, together=2
    )
    for columns in (8, 16)
}


@pytest.mark.parametrize("name", KERNELS)
def test_shared_memory(name: str) -> None:
    assert shared_bytes(expand(name)) <= {**TILES, **RESIDENT}.get(name, LIMIT)


@pytest.mark.parametrize("name", RESIDENT)
def test_shared_memory_of_columns(name: str) -> None:
    assert shared_bytes(expand(name)) == RESIDENT[name]
