"""What every kind of model file gives: metadata by GGUF's keys, tensors by GGUF's names."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TypeVar

import numpy as np

from llm.errors import ModelFileError
from llm.files.formats import BlockFormat
from llm.files.metadata import Metadata
from llm.files.wording import quoted

Self = TypeVar("Self", bound="ModelFile")


@dataclass(frozen=True, slots=True)
class TensorInfo:
    name: str
    shape: tuple[int, ...]  # numpy order: a matrix is (M rows, K columns)
    format: BlockFormat

    @property
    def count(self) -> int:
        """Values in it."""
        return math.prod(self.shape)

    @property
    def rows(self) -> int:
        """Of all its matrices together; a vector is one row."""
        return math.prod(self.shape[:-1])

    @property
    def row_bytes(self) -> int:
        return self.format.size_of(self.shape[-1])

    @property
    def size(self) -> int:
        """Bytes."""
        return self.rows * self.row_bytes


class ModelFile(ABC):
    """An open model. Arrays that look into its files keep their mappings alive by themselves."""

    path: str
    kind: str  # in a few words, for people
    metadata: Metadata
    tensors: Mapping[str, TensorInfo]

    @abstractmethod
    def rows(self, name: str, start: int, count: int) -> np.ndarray:
        """The bytes of rows start to start + count of a tensor, in its format: uint8, read-only.

        A view where the file holds them just so, else made of what it holds. From any thread.
        Raises ModelFileError where the tensor is missing, or its values cannot be.
        """

    @property
    @abstractmethod
    def size(self) -> int:
        """Of all files together, in bytes."""

    @abstractmethod
    def digest_without_data(self) -> str:
        """The SHA-256 of all but the tensors' data, in hexadecimal."""

    @abstractmethod
    def close(self) -> None:
        """Lets the mappings go as soon as no array looks into them."""

    def tensor(self, name: str) -> TensorInfo:
        """The record of a tensor that the caller cannot do without."""
        if name not in self.tensors:
            found = f"is missing; the file has {len(self.tensors):,} others"
            raise ModelFileError(self.path, f"tensor {quoted(name)}", found)
        return self.tensors[name]

    def rows_at_once(self, name: str, size: int) -> int:
        """How many rows of a tensor a reader should ask for at a time: at most `size` bytes, or one
        row, and no more than are made in some tenths of a second."""
        return max(1, size // self.tensor(name).row_bytes)

    def data(self, name: str) -> np.ndarray:
        """The bytes of a whole tensor; see `rows`."""
        return self.rows(name, 0, self.tensor(name).rows)

    def stored(self, name: str) -> tuple[BlockFormat, np.ndarray]:
        """A whole tensor as the files hold it, whatever `rows` makes of it: format and bytes."""
        return self.tensor(name).format, self.data(name)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
