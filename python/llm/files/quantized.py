"""A model file whose float matrices are quantised while their rows are read.

Nothing of it is stored: each slice of rows is made anew, on the thread that asks for it.
"""

import hashlib
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from llm.errors import ModelFileError, RequestError
from llm.files import q4_k
from llm.files.formats import FORMATS_BY_NAME, BlockFormat
from llm.files.model_file import ModelFile, TensorInfo
from llm.files.wording import quoted

TARGETS: Final = ("q8_0", "q4_k")
_FLOATS: Final = ("f32", "f16", "bf16")
_HALF = 65504.0
# The largest value that each holds: float16 is what scales are stored in.
_MOST: Final = {"f16": _HALF, "q8_0": 127 * _HALF, "q4_k": q4_k.MOST}
_CHUNK = 1 << 17  # weights at a time: so few that what is computed of them stays in the caches
_SLICE = 1 << 21  # weights in a tenth of a second or two

# Small matrices by which much is decided; converters keep them as they are too.
_KEPT: Final = (
    *("_norm.weight", "ffn_gate_inp.weight", "conv1d.weight", "conv.weight"),
    *("position_embd.weight", "token_types.weight"),
)


class QuantizedFile(ModelFile):
    def __init__(self, file: ModelFile, target: str) -> None:
        """`target` is one of TARGETS; raises RequestError for others.

        Rows that are no whole blocks of Q4_K become Q8_0, those that are none of that, f16. So
        does llama.cpp's own quantiser.
        """
        if target not in TARGETS:
            raise RequestError(f"quantize is '{target}'; there are {', '.join(TARGETS)}")
        self.path = file.path
        self.kind = f"{file.kind}, quantised to {target} while it loads"
        self.metadata = file.metadata
        self._file = file
        self._target = target
        # What the logits come from counts most; files of Q4_K_M have more bits there as well.
        head = "output.weight" if "output.weight" in file.tensors else "token_embd.weight"
        self.tensors: Mapping[str, TensorInfo] = {
            name: TensorInfo(name, info.shape, _format(info, "q8_0" if name == head else target))
            for name, info in file.tensors.items()
        }

    def rows(self, name: str, start: int, count: int) -> np.ndarray:
        info, stored = self.tensor(name), self._file.tensor(name)
        if info.format == stored.format:
            return self._file.rows(name, start, count)
        made = np.empty((count, info.row_bytes), np.uint8)
        step = max(1, _CHUNK // info.shape[-1])
        for first in range(0, count, step):
            rows = min(step, count - first)
            values = _values(self._file.rows(name, start + first, rows), stored.format)
            self._check(name, values, info.format)
            made[first : first + rows] = _quantized(values, info.format).reshape(rows, -1)
        return made.reshape(-1)

    def stored(self, name: str) -> tuple[BlockFormat, np.ndarray]:
        return self._file.stored(name)

    def rows_at_once(self, name: str, size: int) -> int:
        most = super().rows_at_once(name, size)
        return min(most, max(1, _SLICE // self.tensor(name).shape[-1]))

    def _check(self, name: str, values: NDArray[np.float32], format: BlockFormat) -> None:
        reach = max(values.max(), -values.min())  # NaN where a value is
        if not reach <= _MOST[format.name]:
            problem = f"reaches {reach:g}, but {format} holds {_MOST[format.name]:g} at most"
            raise ModelFileError(self.path, f"tensor {quoted(name)}", problem)

    @property
    def size(self) -> int:
        return self._file.size

    def digest_without_data(self) -> str:
        inner = self._file.digest_without_data()
        return hashlib.sha256(f"{inner} {self._target}".encode()).hexdigest()

    def close(self) -> None:
        self._file.close()


def _format(info: TensorInfo, target: str) -> BlockFormat:
    is_small = len(info.shape) < 2 or info.name.endswith(_KEPT)
    if is_small or info.format.name not in _FLOATS or not info.name.endswith(".weight"):
        return info.format
    columns = info.shape[-1]
    if target == "q4_k" and columns % q4_k.BLOCK == 0:
        return FORMATS_BY_NAME["q4_k"]
    return FORMATS_BY_NAME["f16" if columns % 32 else "q8_0"]


def _values(raw: np.ndarray, format: BlockFormat) -> NDArray[np.float32]:
    if format.name == "f32":
        return raw.view(np.float32)
    if format.name == "f16":
        return raw.view(np.float16).astype(np.float32)
    return (raw.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def _quantized(values: NDArray[np.float32], format: BlockFormat) -> np.ndarray:
    """Bytes, in a row."""
    if format.name == "f16":
        return values.astype(np.float16).view(np.uint8)
    if format.name == "q4_k":
        return q4_k.quantize_q4_k(values)
    from gguf import GGMLQuantizationType, quants

    made: np.ndarray = quants.quantize(values, GGMLQuantizationType.Q8_0)
    return made
