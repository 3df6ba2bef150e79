"""A model in several GGUF files, named NAME-00001-of-00003.gguf and so on.

The first holds all metadata; tensors lie in any of them. It is opened by the first.
"""

import hashlib
import os
import re
from collections.abc import Sequence

import numpy as np

from llm.errors import ModelFileError
from llm.files import pack
from llm.files.gguf import MAX_TENSORS, GgufFile
from llm.files.model_file import ModelFile, TensorInfo
from llm.files.wording import quoted

_NAME = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf", re.DOTALL)
_MOST_PARTS = 99_999  # what the five digits of a name can say


class SplitGguf(ModelFile):
    """All parts, open."""

    def __init__(self, parts: Sequence[GgufFile]) -> None:
        """Use `open`."""
        first = parts[0]
        self.path = first.path
        self.kind = f"{first.kind}, {len(parts):,} files"
        self.metadata = first.metadata
        self._parts = parts
        self._places: dict[str, GgufFile] = {}  # the part of each tensor
        self.tensors: dict[str, TensorInfo] = {}
        for part in parts:
            for name, info in part.tensors.items():
                if name in self._places:
                    problem = f"is in {os.path.basename(self._places[name].path)} too"
                    raise ModelFileError(part.path, f"tensor {quoted(name)}", problem)
                self._places[name] = part
                self.tensors[name] = info
        key = "split.tensors.count"
        promised = self.metadata.int(key, len(self.tensors))
        if promised != len(self.tensors):
            problem = f"is {promised:,}, but the {len(parts):,} files hold {len(self.tensors):,}"
            raise ModelFileError(self.path, key, problem)

    @classmethod
    def open(cls, first: GgufFile) -> "SplitGguf":
        """Opens the other parts of a file whose `split.count` is above 1. Raises ModelFileError."""
        count = first.metadata.int("split.count", minimum=2, maximum=_MOST_PARTS)
        paths = _paths(first, count)
        parts = [first]
        for number, path in enumerate(paths[1:], start=1):
            if not os.path.exists(path) and pack.find(path) is None:
                problem = f"does not exist; it is part {number + 1:,} of {count:,} of {first.path}"
                raise ModelFileError(path, "file", problem)
            part = GgufFile.open(path)
            _check(part, "split.count", count)
            _check(part, "split.no", number)
            parts.append(part)
            if sum(len(part.tensors) for part in parts) > MAX_TENSORS:
                problem = f"this build reads at most {MAX_TENSORS:,} in all files together"
                raise ModelFileError(path, "tensor count", problem)
        return cls(parts)

    def rows(self, name: str, start: int, count: int) -> np.ndarray:
        self.tensor(name)
        return self._places[name].rows(name, start, count)

    @property
    def size(self) -> int:
        return sum(part.size for part in self._parts)

    def digest_without_data(self) -> str:
        digests = "".join(part.digest_without_data() for part in self._parts)
        return hashlib.sha256(digests.encode()).hexdigest()

    def close(self) -> None:
        for part in self._parts:
            part.close()


def _paths(first: GgufFile, count: int) -> list[str]:
    """Where all parts should be. ModelFileError where `first` is not the first."""
    name = _NAME.fullmatch(first.path)
    number = first.metadata.int("split.no", 0)
    if number:
        problem = f"is {number:,}, so this is part {number + 1:,} of {count:,}; open the first"
        if name:
            problem += f", {os.path.basename(name[1])}-00001-of-{name[3]}.gguf"
        raise ModelFileError(first.path, "split.no", problem)
    ending = f"-00001-of-{count:05d}.gguf"
    if not name or not first.path.endswith(ending):
        problem = f"is {count:,}, but the file's name does not end with {ending}, as others' do"
        raise ModelFileError(first.path, "split.count", problem)
    return [f"{name[1]}-{part:05d}-of-{count:05d}.gguf" for part in range(1, count + 1)]


def _check(part: GgufFile, key: str, expected: int) -> None:
    found = part.metadata.int(key)
    if found != expected:
        raise ModelFileError(part.path, key, f"is {found:,}, but must be {expected:,} here")
