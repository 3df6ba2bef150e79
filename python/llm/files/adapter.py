"""A LoRA adapter in a GGUF file: for each of some matrices of a model, two narrow ones.

Beside W (M, K) stand `<its name>.lora_a` (r, K) and `<its name>.lora_b` (M, r), and what is
multiplied is W + weight * alpha / r * B A. Source: Hu et al. 2021, LoRA: Low-Rank Adaptation.

Norms that a file may have beside them change nothing, as in llama.cpp.
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType, quants
from numpy.typing import NDArray

from llm.errors import ModelFileError, UnsupportedModelError
from llm.files.gguf import GgufFile
from llm.files.metadata import Metadata
from llm.files.model_file import TensorInfo
from llm.files.repack import check_packable
from llm.files.wording import quoted

A, B = ".lora_a", ".lora_b"
ALPHA = "adapter.lora.alpha"
INVOCATION = "adapter.alora.invocation_tokens"
EMBEDDING = "token_embd.weight"  # whose A would have a row a token

Matrix = NDArray[Any]  # float32, or float16 where the file has that


@dataclass(frozen=True, slots=True)
class Pair:
    """What is added to one matrix of the model."""

    a: TensorInfo  # (r, K)
    b: TensorInfo  # (M, r)

    @property
    def rank(self) -> int:
        return self.a.shape[0]


class AdapterFile:
    """One open adapter."""

    def __init__(self, file: GgufFile, alpha: float, pairs: Mapping[str, Pair]) -> None:
        """Use `open`."""
        self.path = file.path
        self.kind = file.kind
        self.size = file.size
        self.name = file.metadata.str("general.name", "")
        self.architecture = file.metadata.str("general.architecture")
        self.alpha = alpha  # 0: nothing is divided by the rank
        self.pairs = pairs  # by the name of the matrix
        self._file = file

    @classmethod
    def open(cls, path: str) -> "AdapterFile":
        """Maps and checks a file. ModelFileError, and UnsupportedModelError for adapters that are
        no LoRA, or one of experts, or one that some tokens switch on."""
        file = GgufFile.open(path)
        metadata = file.metadata
        if not is_adapter(metadata):
            kind = metadata.str("general.type", "model")
            problem = f"is '{kind}', not 'adapter'; name the file as the model, and an adapter here"
            raise ModelFileError(path, "general.type", problem)
        kind = metadata.str("adapter.type")
        if INVOCATION in metadata:
            kind = "lora that tokens switch on (aLoRA)"
        if kind != "lora":
            raise UnsupportedModelError(path, "adapter.type", kind, ["lora"])
        alpha = metadata.float(ALPHA, 0.0)
        if not math.isfinite(alpha):
            raise ModelFileError(path, ALPHA, f"is {alpha}; it must be a number")
        return cls(file, alpha, _pairs(file))

    @property
    def rank(self) -> int:
        """The largest of any matrix."""
        return max(pair.rank for pair in self.pairs.values())

    def scale(self, pair: Pair) -> float:
        """Of B A, before the weight that somebody gives the adapter."""
        return self.alpha / pair.rank if self.alpha else 1.0

    def matrix(self, info: TensorInfo) -> Matrix:
        """The numbers of one of the tensors."""
        data = self._file.data(info.name).reshape(info.rows, -1)
        if info.format.name == "f16":
            return data.view(np.float16)
        expanded = quants.dequantize(data, GGMLQuantizationType(info.format.id))
        return np.asarray(expanded, np.float32)

    def digest(self) -> str:
        """The SHA-256 of all of it, in hexadecimal: adapters of one kind differ in numbers only."""
        found = hashlib.sha256(self._file.digest_without_data().encode())
        for name in self._file.tensors:
            found.update(self._file.data(name).data)
        return found.hexdigest()


def is_adapter(metadata: Metadata) -> bool:
    """Whether a file says that it is one, of any type."""
    return metadata.str("general.type", "model") == "adapter"


def _pairs(file: GgufFile) -> dict[str, Pair]:
    pairs: dict[str, Pair] = {}
    for name in file.tensors:
        if name.endswith(A):
            pairs[name.removesuffix(A)] = _pair(file, name.removesuffix(A))
        elif name.endswith(B):
            _tensor(file, name.removesuffix(B) + A, beside=name)
        elif not name.endswith("_norm.weight"):
            problem = f"ends neither with {A} nor with {B}; the file is damaged, or newer"
            raise ModelFileError(file.path, f"tensor {quoted(name)}", problem)
    if not pairs:
        raise ModelFileError(file.path, "tensors", f"are {len(file.tensors)}, of them 0 pairs")
    return pairs


def _pair(file: GgufFile, name: str) -> Pair:
    pair = Pair(file.tensor(name + A), _tensor(file, name + B, beside=name + A))
    for info in (pair.a, pair.b):
        check_packable(file.path, info.name, info.format)
        of = "the embedding" if name == EMBEDDING else f"experts, with {len(info.shape)} dimensions"
        if name == EMBEDDING or len(info.shape) != 2:
            field = f"tensor {quoted(info.name)}"
            raise UnsupportedModelError(file.path, field, f"of {of}", ["those of other matrices"])
    rows, columns = pair.a.shape[0], pair.b.shape[1]
    if rows != columns:
        problem = f"has {rows} rows, and {B} {columns} columns; both are the rank"
        raise ModelFileError(file.path, f"tensor {quoted(name + A)}", problem)
    return pair


def _tensor(file: GgufFile, name: str, *, beside: str) -> TensorInfo:
    if name not in file.tensors:
        problem = f"is missing beside {quoted(beside)}; the file is damaged"
        raise ModelFileError(file.path, f"tensor {quoted(name)}", problem)
    return file.tensors[name]
