"""The tiles in which groups of matmul_matrix.comp and matmul_few.comp compute a product."""

from dataclasses import dataclass

SHARED_ROW = 144  # bytes of shared memory for a row or a column of a tile


@dataclass(frozen=True, slots=True)
class MatrixTile:
    """What a group computes, and each of its subgroups; and how fast, on an H200.

    The last two fields only serve to choose between tiles.
    """

    rows: int
    columns: int
    sub_rows: int
    sub_columns: int
    subgroup_size: int
    resident: int = 1  # groups that a multiprocessor runs at the same time
    microseconds: float = 1.0  # for each 64 of k, with so many groups beside each other

    takes_parts = True  # of k, where groups would be too few

    @property
    def group_size(self) -> int:
        subgroups = self.rows // self.sub_rows * (self.columns // self.sub_columns)
        return subgroups * self.subgroup_size

    @property
    def shared_memory(self) -> int:
        """Bytes."""
        return (self.rows + self.columns) * SHARED_ROW

    def kernel(self, format_name: str) -> str:
        return f"matmul_matrix_{format_name}_{self.rows}x{self.columns}"


@dataclass(frozen=True, slots=True)
class FewTile:
    """What a group of matmul_few.comp computes: rows of all columns that there are, by subgroups
    that share k. For lanes that have the elements which matrix_fragments.glslh says.
    """

    columns: int
    microseconds: float

    rows = 16
    subgroup_size = 32
    group_size = 8 * 32
    resident = 4
    takes_parts = False

    @property
    def shared_memory(self) -> int:
        """Bytes."""
        return 4 * self.group_size // self.subgroup_size * self.columns * (self.rows + 4)

    def kernel(self, format_name: str) -> str:
        return f"matmul_few_{format_name}_{self.columns}"


Tile = MatrixTile | FewTile


FEW_TILES = (FewTile(8, microseconds=0.09), FewTile(16, microseconds=0.11))
MATRIX_TILES = (
    MatrixTile(128, 128, 32, 32, 32, resident=1, microseconds=1.55),
    MatrixTile(64, 64, 32, 16, 32, resident=2),
    MatrixTile(64, 32, 32, 16, 32, resident=3, microseconds=1.2),
    MatrixTile(64, 16, 16, 16, 32, resident=4, microseconds=1.25),
)
EXPERT_TILES = MATRIX_TILES[1:]  # of experts: few rows use the same one
# Of one subgroup of eight: what a software driver takes, so that tests can run the kernel there.
SMALL_MATRIX_TILES = (MatrixTile(32, 32, 32, 32, 8), MatrixTile(16, 16, 16, 16, 8))
