"""No kernel asks for more shared memory than every desktop driver has."""

import pytest
from support.glsl_constants import shared_bytes

from llm.gpu.kernels.attend_tiles import SAMPLE_TILES, AttendMatrixTile
from llm.gpu.kernels.matrix_tiles import FEW_TILES, MATRIX_TILES, SMALL_MATRIX_TILES
from llm.gpu.kernels.shader_source import expand
from llm.gpu.kernels.variants import FORMAT_IDS, KERNELS

LIMIT = 32 * 1024  # bytes
TILES = {  # of matrices, which only devices with as much use
    tile.kernel(name): tile.shared_memory
    for tile in MATRIX_TILES + SMALL_MATRIX_TILES + FEW_TILES
    for name in FORMAT_IDS
} | {tile.kernel: tile.shared_memory for tile in SAMPLE_TILES if isinstance(tile, AttendMatrixTile)}


@pytest.mark.parametrize("name", KERNELS)
def test_shared_memory(name: str) -> None:
    assert shared_bytes(expand(name)) <= TILES.get(name, LIMIT)
