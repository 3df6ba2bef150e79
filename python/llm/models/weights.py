"""Looks up the tensors that an architecture needs, and checks their shapes."""

import numpy as np
from gguf import GGMLQuantizationType, quants

from llm.errors import ModelFileError, UnsupportedModelError
from llm.files.formats import FORMATS
from llm.files.gguf import GgufFile
from llm.gpu.operations import Weight
from llm.gpu.program import Floats

F32 = FORMATS[0]


class WeightTable:
    """Collects each tensor that an architecture asks for, once, in the order of asking."""

    def __init__(self, file: GgufFile) -> None:
        self._file = file
        self._taken: dict[str, Weight] = {}
        self._tables: dict[str, Weight] = {}
        self.constants: dict[str, Floats] = {}  # by name

    def matrix(self, name: str, rows: int, columns: int) -> Weight:
        """A matrix of the file (rows, columns). ModelFileError where missing or misshapen."""
        if name not in self._file.tensors:
            raise ModelFileError(self._file.path, f"tensor {name}", "missing")
        info = self._file.tensors[name]
        shape = info.shape if len(info.shape) > 1 else (1, *info.shape)
        if shape != (rows, columns):
            found, wanted = _times(shape), _times((rows, columns))
            problem = f"has the shape {found}, the metadata ask for {wanted}"
            raise ModelFileError(self._file.path, f"tensor {name}", problem)
        return self._taken.setdefault(name, Weight(name, info.format, rows, columns))

    def stacked(self, name: str, count: int, rows: int, columns: int) -> Weight:
        """So many matrices of one tensor as a single one, (count*rows, columns)."""
        info = self._file.tensors.get(name)
        if info is not None and info.shape != (count, rows, columns):
            found, wanted = _times(info.shape), _times((count, rows, columns))
            problem = f"has the shape {found}, the metadata ask for {wanted}"
            raise ModelFileError(self._file.path, f"tensor {name}", problem)
        if info is None:
            raise ModelFileError(self._file.path, f"tensor {name}", "missing")
        return self._taken.setdefault(name, Weight(name, info.format, count * rows, columns))

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
        found = self.matrix(name, 1, size)
        if found.format.name != F32.name:
            problem = f"is stored as {found.format.name}; norms are read as {F32.name}"
            raise ModelFileError(self._file.path, f"tensor {name}", problem)
        return found

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

    def refuse_biases(self) -> None:
        """UnsupportedModelError where a tensor is a bias: products here add none."""
        for name in self._file.tensors:
            if name.endswith(".bias"):
                raise UnsupportedModelError(
                    self._file.path, "a tensor", name, ["products without a bias"]
                )

    def has(self, name: str) -> bool:
        return name in self._file.tensors

    @property
    def taken(self) -> tuple[Weight, ...]:
        return tuple(self._taken.values())

    @property
    def tables(self) -> tuple[Weight, ...]:
        return tuple(self._tables.values())


def _times(shape: tuple[int, ...]) -> str:
    return "x".join(str(size) for size in shape)
