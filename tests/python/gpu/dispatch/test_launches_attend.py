"""Attention launches cover what they should, whatever the sizes."""

import pytest

from llm.gpu.dispatch.launches_attend import LONG, MAX_PARTS, AttendDevice, plan_attend
from llm.gpu.kernels.attend_tiles import AttendMatrixTile, matrix_tile, plain_tile
from llm.gpu.kernels.variants import KERNELS

SOFTWARE = AttendDevice(is_cpu=True)
LANES = AttendDevice(is_cpu=True, has_lanes=True)
PLAIN = AttendDevice(is_cpu=False)
MATRICES = AttendDevice(is_cpu=False, subgroup_size=32, shared_memory=48 * 1024)
DEVICES = {"software": SOFTWARE, "plain": PLAIN, "matrices": MATRICES}
GEMMA = 4, 1, 256
LLAMA = 32, 8, 64


@pytest.mark.parametrize(
    ("rows", "head_size", "are_apart", "kernel"),
    [
        pytest.param(1, 256, False, "attend_lanes_256", id="one row"),
        pytest.param(5, 64, True, "attend_lanes_64", id="rows of several sequences"),
        pytest.param(5, 64, False, "attend_rows_16", id="rows of one"),
        pytest.param(1, 264, False, "attend_rows_2", id="a larger head"),
    ],
)
def test_plan_by_lanes(rows: int, head_size: int, are_apart: bool, kernel: str) -> None:
    plan = plan_attend(6, 2, head_size, 0, rows, LANES, are_apart=are_apart)
    assert plan.kernel == kernel
    assert plan.by_lanes == kernel.startswith("attend_lanes")
    if plan.by_lanes:
        assert plan.groups == (6, rows, 1)
        assert KERNELS[kernel].defines["HEAD_SIZE"] == head_size


@pytest.mark.parametrize(
    ("heads", "kv_heads", "head_size"),
    [GEMMA, LLAMA, (32, 8, 128), (8, 8, 96), (6, 2, 32), (1, 1, 512), (4, 1, 1024)],
)
@pytest.mark.parametrize("rows", [1, 8, 33, 256])
@pytest.mark.parametrize("window", [0, 5, 512])
@pytest.mark.parametrize("device", DEVICES.values(), ids=DEVICES)
def test_plan_attend(
    heads: int, kv_heads: int, head_size: int, rows: int, window: int, device: AttendDevice
) -> None:
    plan = plan_attend(heads, kv_heads, head_size, window, rows, device)
    kernel = KERNELS[plan.kernel]
    queries = rows * heads // kv_heads
    if plan.tile is None:
        across, down, _ = plan.groups
        size = kernel.defines["COLUMNS"]
    else:
        _, across, down = plan.groups
        size = kernel.defines["QUERIES"]
        assert kernel.defines["HEAD_SIZE"] == head_size
        is_matrix = device is MATRICES and head_size <= 256
        assert kernel.source == ("attend_matrices.comp" if is_matrix else "attend_tiles.comp")
    assert across == kv_heads
    assert (down - 1) * size < queries <= down * size
    assert 1 <= plan.parts <= MAX_PARTS
    assert (plan.partial_floats == 0) == (plan.parts == 1)
    assert plan.step == size


@pytest.mark.parametrize(
    ("heads", "kv_heads", "head_size", "step"),
    [(*GEMMA, 4), (*LLAMA, 4), (6, 2, 32, 3), (71, 1, 64, 1), (40, 1, 64, 20)],
)
@pytest.mark.parametrize("rows", [1, 3, 16])
@pytest.mark.parametrize("device", DEVICES.values(), ids=DEVICES)
def test_rows_apart(
    heads: int, kv_heads: int, head_size: int, step: int, rows: int, device: AttendDevice
) -> None:
    """No group has heads of two rows, and all have some."""
    plan = plan_attend(heads, kv_heads, head_size, 0, rows, device, are_apart=True)
    group = heads // kv_heads
    assert group % plan.step == 0
    of_a_group = "COLUMNS" if plan.tile is None else "QUERIES"
    assert plan.step <= int(KERNELS[plan.kernel].defines[of_a_group])
    down = plan.groups[1] if plan.tile is None else plan.groups[2]
    assert down == rows * group // plan.step
    if plan.tile is not None:
        assert plan.step == step


def test_few_groups_are_cut_into_parts() -> None:
    assert plan_attend(*GEMMA, 0, 1, MATRICES).parts >= 32
    assert plan_attend(*LLAMA, 0, 1, MATRICES).parts == 16
    assert plan_attend(*LLAMA, 0, 256, MATRICES).parts == 1
    assert plan_attend(*GEMMA, 0, 1, SOFTWARE).parts == 1


def test_no_more_parts_than_tiles() -> None:
    for window in (1, 64, 300, 0):
        plan = plan_attend(*GEMMA, window, 1, MATRICES)
        assert plan.tile is not None
        assert plan.parts <= -(-((window or LONG) + 4) // plan.tile.keys)


def test_partials_lie_by_groups() -> None:
    plan = plan_attend(*GEMMA, 0, 8, MATRICES)
    assert plan.tile is not None
    parts, across, down = plan.groups
    assert (across, down) == (1, 2)  # 32 queries, 16 a tile
    assert plan.partial_floats == parts * 2 * (16 * 256 + 2 * 16 + 4)
    assert plan.merge_groups == (16 * 256 // 4 // KERNELS["attend_merge"].group_size, 1, 2)


def test_matrices_need_heads_of_16_that_fit() -> None:
    device = {"subgroup_size": 32, "shared_memory": 48 * 1024}
    assert matrix_tile(80, 1, **device) is not None
    for size in (40, 272):
        assert matrix_tile(size, 1, **device) is None
    assert matrix_tile(64, 1, subgroup_size=0, shared_memory=48 * 1024) is None
    assert matrix_tile(256, 1, subgroup_size=32, shared_memory=16 * 1024) is None
    assert plan_attend(4, 1, 40, 0, 8, MATRICES).kernel.startswith("attend_tiles_40")


@pytest.mark.parametrize("shared_memory", [24 * 1024, 32 * 1024, 48 * 1024])
@pytest.mark.parametrize("subgroup_size", [8, 16, 32, 64])
@pytest.mark.parametrize("head_size", range(16, 257, 16))
@pytest.mark.parametrize("queries", [1, 33])
def test_shapes_of_matrices(
    head_size: int, queries: int, subgroup_size: int, shared_memory: int
) -> None:
    """What attend_matrices.comp asks of its defines."""
    tile = matrix_tile(head_size, queries, subgroup_size=subgroup_size, shared_memory=shared_memory)
    if tile is None:
        assert head_size > 160
        assert shared_memory == 24 * 1024
        return
    assert tile.shared_memory <= shared_memory
    assert tile.queries <= tile.keys
    assert tile.queries % (16 * tile.down) == 0
    across = tile.group_size // subgroup_size // tile.down
    assert tile.keys % (16 * across) == 0
    threads = max(min(tile.group_size // tile.queries, tile.keys // 8), 1)  # of a softmax
    assert threads <= subgroup_size
    assert tile.queries * threads % subgroup_size == 0
    assert tile.queries % tile.group_size == 0 or tile.queries <= tile.group_size


@pytest.mark.parametrize("head_size", [8, 24, 32, 96, 160, 256, 320, 512, 1024])
@pytest.mark.parametrize("queries", [1, 33])
def test_shapes_of_tiles(head_size: int, queries: int) -> None:
    """What attend_tiles.comp asks of its defines."""
    tile = plain_tile(head_size, queries)
    assert not isinstance(tile, AttendMatrixTile)
    assert tile.keys % 8 == tile.keys % tile.defines["SCORE_KEYS"] == 0
    assert head_size // 8 % tile.defines["SUM_THREADS"] == 0
    for threads in (tile.keys // tile.defines["SCORE_KEYS"], tile.defines["SUM_THREADS"]):
        assert tile.group_size % threads == 0
        rows = tile.group_size // threads  # of threads
        assert tile.queries % rows == 0 or tile.queries < rows


def test_a_head_that_no_kernel_takes() -> None:
    with pytest.raises(ValueError, match="multiple of 8"):
        plain_tile(20, 1)
