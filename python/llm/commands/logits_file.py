"""Logits of every position in a numpy file, row after row: all of them may outgrow the memory."""

import contextlib
import os
from collections.abc import Iterator
from types import TracebackType

import numpy as np

from llm.errors import RequestError
from llm.gpu.program import Floats


class LogitsFile:
    """Takes its name when it is complete, at the end of a `with` that nothing ended early.

    Raises RequestError where it cannot be written, at once where that shows at once.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._partial = f"{path}.part"
        self._has_header = False
        with self._explaining():
            if os.path.isdir(path):
                raise IsADirectoryError(0, "is a folder")
            self._file = open(self._partial, "wb")  # noqa: SIM115  (`__exit__` closes it)

    def append(self, logits: Floats, total_rows: int) -> None:
        """Some rows, (rows, V), of those that there will be."""
        with self._explaining():
            if not self._has_header:
                header = np.lib.format.header_data_from_array_1_0(logits)
                header["shape"] = (total_rows, logits.shape[1])
                np.lib.format.write_array_header_1_0(self._file, header)
                self._has_header = True
            self._file.write(np.ascontiguousarray(logits).data)

    def __enter__(self) -> "LogitsFile":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            with self._explaining():
                self._file.close()
                if problem is None:
                    os.replace(self._partial, self._path)
        finally:
            with contextlib.suppress(OSError):
                os.unlink(self._partial)

    @contextlib.contextmanager
    def _explaining(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RequestError(f"--save-logits {self._path}: {error.strerror}") from None
