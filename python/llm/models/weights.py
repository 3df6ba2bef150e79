"""Looks up the tensors that an architecture needs, and checks their shapes."""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np
from gguf import GGMLQuantizationType, quants

from llm.errors import ModelFileError, UnsupportedModelError
from llm.files.formats import FORMATS
from llm.files.model_file import ModelFile
from llm.gpu.operations import Weight
from llm.gpu.program import Floats

F32 = FORMATS[0]


class WeightTable:
    """Collects each tensor that an architecture asks for, once, in the order of asking."""

    def __init__(self, file: ModelFile) -> None:
        self._file = file
        self._taken: dict[str, Weight] = {}
        self._tables: dict[str, Weight] = {}
        self.constants: dict[str, Floats] = {}  # by name

    def matrix(self, name: str, rows: int, columns: int) -> Weight:
        """A matrix of the file (rows, columns). ModelFileError where missing or misshapen."""
        return self._taken.setdefault(name, self._find(name, rows, columns))

    def experts(self, name: str, count: int, rows: int, columns: int) -> Weight:
        """Matrices of `count` experts (rows, columns), as one of all their rows."""
        return self._taken.setdefault(name, self._find(name, count, rows, columns))

    def table(self, name: str, rows: int, columns: int) -> Weight:
        """A matrix of the file that is not multiplied: a run reads a row a token."""
        found = self._tables[name] = self.matrix(name, rows, columns)
        del self._taken[name]
        return found

    def constant(self, name: str, rows: int, columns: int) -> Weight:
        """A small matrix of the file, in any format, which is read as float32: a constant."""
        found = self.matrix(name, rows, columns)
        del self._taken[name]
        data = self._file.data(name).reshape(rows, -1)
        self.constants[name] = quants.dequantize(data, GGMLQuantizationType(found.format.id))
        return Weight(name, F32, rows, columns)

    def vector(self, name: str, size: int) -> Weight:
        """A vector of the file, as a matrix of one row; it must be float32."""
        return self.floats(name, 1, size)

    def vector_or_none(self, name: str, size: int) -> Weight | None:
        """A vector that not every file has."""
        return self.vector(name, size) if self.has(name) else None

    def floats(self, name: str, rows: int, columns: int) -> Weight:
        """A matrix that must be float32: its numbers are read as they stand."""
        return self._require_f32(self.matrix(name, rows, columns))

    def first_row(self, name: str, columns: int) -> Weight | None:
        """That of a float32 matrix of any height; None where missing."""
        if not self.has(name):
            return None
        rows = math.prod(self._file.tensors[name].shape[:-1])
        found = replace(self._find(name, rows, columns), name=f"{name} row 0", rows=1, part_of=name)
        return self._taken.setdefault(found.name, self._require_f32(found))

    def pieces(self, name: str, heights: Sequence[int], columns: int) -> list[Weight]:
        """A matrix of the file, cut into matrices of these heights, from its first row on."""
        whole = self._find(name, sum(heights), columns)
        first_rows = accumulate(heights, initial=0)
        made = [
            Weight(f"{name} from row {first}", whole.format, rows, columns, name, first)
            for rows, first in zip(heights, first_rows, strict=False)
        ]
        return [self._taken.setdefault(piece.name, piece) for piece in made]

    def expert_pieces(
        self, name: str, count: int, heights: Sequence[int], columns: int
    ) -> list[Weight]:
        """Matrices of `count` experts, each cut into matrices of these heights: see `experts`."""
        of_height = sum(heights)
        whole = self._find(name, count, of_height, columns)
        made = [
            Weight(
                name=f"{name} from row {first}",
                format=whole.format,
                rows=count * height,
                columns=columns,
                part_of=name,
                first_row=first,
                height=height,
                of_height=of_height,
            )
            for height, first in zip(heights, accumulate(heights, initial=0), strict=False)
        ]
        return [self._taken.setdefault(piece.name, piece) for piece in made]

    def rows_of(self, name: str) -> int:
        """Rows of a matrix whose height the metadata do not give, such as the vocabulary."""
        if name not in self._file.tensors:
            raise ModelFileError(self._file.path, f"tensor {name}", "missing")
        shape = self._file.tensors[name].shape
        if len(shape) != 2:
            problem = f"has {len(shape)} dimensions, 2 are needed"
            raise ModelFileError(self._file.path, f"tensor {name}", problem)
        return shape[0]

    def positive_values(self, name: str, size: int) -> Floats | None:
        """The numbers of a float32 vector that no kernel reads, (size,); None where missing."""
        if not self.has(name):
            return None
        info = self._file.tensors[name]
        if info.shape != (size,) or info.format.name != F32.name:
            problem = f"is {_times(info.shape)} {info.format.name}; {size} {F32.name} are needed"
            raise ModelFileError(self._file.path, f"tensor {name}", problem)
        values = np.frombuffer(self._file.data(name).tobytes(), np.float32)  # (size,)
        if not (np.isfinite(values) & (values > 0)).all():
            raise ModelFileError(self._file.path, f"tensor {name}", "is not all above 0 and finite")
        return values

    def refuse_others(self, idle: Collection[str] = ()) -> None:
        """UnsupportedModelError where the file has a bias or a norm that nothing asked for, without
        which other numbers would come; `idle` are names of some that change nothing."""
        for name in self._file.tensors:
            if name in self._taken or name in idle:
                continue
            if name.endswith((".bias", "norm.weight")):
                raise UnsupportedModelError(self._file.path, "a tensor", name, ["files without it"])

    def has(self, name: str) -> bool:
        return name in self._file.tensors

    @property
    def taken(self) -> tuple[Weight, ...]:
        return tuple(self._taken.values())

    @property
    def tables(self) -> tuple[Weight, ...]:
        return tuple(self._tables.values())

    def _find(self, name: str, *wanted: int) -> Weight:
        if name not in self._file.tensors:
            raise ModelFileError(self._file.path, f"tensor {name}", "missing")
        info = self._file.tensors[name]
        shape = info.shape if len(info.shape) > 1 else (1, *info.shape)
        if shape != wanted:
            problem = f"has the shape {_times(shape)}, the metadata ask for {_times(wanted)}"
            raise ModelFileError(self._file.path, f"tensor {name}", problem)
        return Weight(name, info.format, math.prod(wanted[:-1]), wanted[-1])

    def _require_f32(self, weight: Weight) -> Weight:
        if weight.format.name != F32.name:
            problem = f"is stored as {weight.format.name}; such tensors are read as {F32.name}"
            raise ModelFileError(self._file.path, f"tensor {weight.tensor}", problem)
        return weight


def positive(file: ModelFile, key: str, value: float) -> float:
    """The value. ModelFileError where it is not above 0."""
    if not (math.isfinite(value) and value > 0):
        raise ModelFileError(file.path, key, f"{value} is not above 0")
    return value


def _times(shape: tuple[int, ...]) -> str:
    return "x".join(str(size) for size in shape)
