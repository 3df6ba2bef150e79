"""The tiles in which groups of attend_tiles.comp and attend_matrices.comp attend."""

from collections.abc import Mapping
from dataclasses import dataclass

VECTOR = 16  # bytes
LARGEST_MATRIX_HEAD = 256  # beyond it the sums of a subgroup do not fit its registers


@dataclass(frozen=True, slots=True)
class AttendTile:
    """`queries` by `keys` scores, which a group has before it at a time; shared by all rows."""

    head_size: int
    queries: int
    keys: int
    group_size: int

    @property
    def kernel(self) -> str:
        return f"attend_tiles_{self.head_size}_{self.queries}x{self.keys}"

    @property
    def source(self) -> str:
        return "attend_tiles.comp"

    @property
    def defines(self) -> Mapping[str, int]:
        units = self.head_size // 8
        threads = 1  # of a query, when values are added up
        while units % (2 * threads) == 0 and threads < 32:
            threads *= 2
        return {
            "HEAD_SIZE": self.head_size,
            "QUERIES": self.queries,
            "KEYS": self.keys,
            "SCORE_KEYS": max(self.keys // 16, 1),
            "SUM_THREADS": threads,
        }

    @property
    def partial_floats(self) -> int:
        """Of the scratch, for what a group leaves of a part of the cells."""
        return self.queries * (self.head_size + 2) + 4


@dataclass(frozen=True, slots=True)
class AttendMatrixTile(AttendTile):
    """The same by cooperative matrices, of subgroups that stand `down` one below another."""

    subgroup_size: int
    down: int

    @property
    def kernel(self) -> str:
        return f"attend_matrices_{self.head_size}_{self.queries}x{self.keys}"

    @property
    def source(self) -> str:
        return "attend_matrices.comp"

    @property
    def defines(self) -> Mapping[str, int]:
        return {
            "SUBGROUP_SIZE": self.subgroup_size,
            "HEAD_SIZE": self.head_size,
            "QUERIES": self.queries,
            "KEYS": self.keys,
            "DOWN": self.down,
        }

    @property
    def shared_memory(self) -> int:
        """Bytes."""
        subgroups = self.group_size // self.subgroup_size
        blocks = -(-self.head_size // 16 // (subgroups // self.down))
        keys = self.keys * (self.head_size // 8 + 1)
        out = subgroups * 16 * (4 * blocks + 1)
        scores = self.queries * (self.keys // 4 + 1)
        words = 5 * self.queries + 5
        return VECTOR * (max(keys, out) + scores) + 4 * words


def plain_tile(head_size: int, queries: int) -> AttendTile:
    """For `queries` query heads of all rows that share a key/value head."""
    if head_size % 8:
        raise ValueError(f"heads of {head_size}; attention needs a multiple of 8")
    if head_size > 512:
        return AttendTile(head_size, 8, 8, 128)
    if head_size > 256:
        return AttendTile(head_size, 16, 16, 128)
    if queries <= 32:
        return AttendTile(head_size, 16, 32, 128)
    if head_size > 128:
        return AttendTile(head_size, 32, 32, 256)
    return AttendTile(head_size, 32, 64 if head_size <= 64 else 32, 128)


def matrix_tile(
    head_size: int, queries: int, *, subgroup_size: int, shared_memory: int
) -> AttendMatrixTile | None:
    """The fastest on an H200 of those that fit the device; None where no matrices serve.

    Tiles of more queries read keys less often; subgroups beside each other need fewer sums each,
    below each other fewer queries each.
    """
    if head_size % 16 or head_size > LARGEST_MATRIX_HEAD or subgroup_size == 0:
        return None
    sizes = [(16, 64, 4, 1), (16, 32, 2, 1)]  # queries, keys, subgroups, down
    if queries > 32 and head_size <= 64:
        sizes.insert(0, (32, 64, 4, 1))
    elif queries > 32 and head_size <= 128:
        sizes.insert(0, (64, 64, 4, 2))
    for wide, keys, subgroups, down in sizes:
        group_size = subgroups * subgroup_size
        tile = AttendMatrixTile(head_size, wide, keys, group_size, subgroup_size, down)
        if tile.shared_memory <= shared_memory:
            return tile
    return None


# Of one subgroup of eight: what a software driver takes, so that tests can run the kernel there.
SMALL_MATRIX_TILES = (
    AttendMatrixTile(32, 16, 16, 8, 8, 1),
    AttendMatrixTile(16, 32, 16, 8, 8, 1),
)
# A tile has a model's head size; these stand for all in tests.
SAMPLE_TILES = (
    *(
        plain_tile(size, queries)
        for size in (8, 48, 64, 128, 256, 512, 1024)
        for queries in (1, 99)
    ),
    *SMALL_MATRIX_TILES,
    *(
        tile
        for size in (64, 80, 128, 256)
        for queries in (1, 99)
        if (tile := matrix_tile(size, queries, subgroup_size=32, shared_memory=49152))
    ),
)
