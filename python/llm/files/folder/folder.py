"""A Hugging Face folder, mapped: config.json, the tokenizer's files, and safetensors, perhaps
several. It shows metadata by GGUF's keys and tensors by GGUF's names, so an architecture reads it
as it reads a file. Nothing is written, and nothing expanded before its rows are asked for.
"""

import gc
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from llm.errors import ModelFileError
from llm.files.folder import embedding, tokenizer
from llm.files.folder.config import Config
from llm.files.folder.json_file import read_json
from llm.files.folder.names import views_of
from llm.files.folder.safetensors import SafetensorsFile, Stored
from llm.files.folder.views import F32, View
from llm.files.metadata import Metadata
from llm.files.model_file import ModelFile, TensorInfo
from llm.files.wording import quoted

CONFIG = "config.json"
_SINGLE = "model.safetensors"
_INDEX = "model.safetensors.index.json"
_MOST_FILES = 1 << 10
_MOST_TENSORS = 1 << 18  # an expert is a tensor, and its scales another


class HuggingFaceFolder(ModelFile):
    """All files of it, open."""

    def __init__(
        self,
        path: str,
        metadata: Metadata,
        views: Mapping[str, View],
        made: Mapping[str, np.ndarray],
        files: Mapping[str, SafetensorsFile],
    ) -> None:
        """Use `open`. `made` are vectors of float32 that no file holds."""
        self.path = path
        plural = "s" if len(files) > 1 else ""
        self.kind = f"a Hugging Face folder of {len(files):,} safetensors file{plural}"
        self.metadata = metadata
        self._views = views
        self._made = made
        self._files = files
        self.tensors: dict[str, TensorInfo] = {name: view.info for name, view in views.items()}
        self.tensors |= {name: TensorInfo(name, x.shape, F32) for name, x in made.items()}

    @classmethod
    def open(cls, path: str) -> "HuggingFaceFolder":
        """Maps and checks all files. ModelFileError, UnsupportedModelError."""
        with _no_collection():
            return cls._open(path)

    @classmethod
    def _open(cls, path: str) -> "HuggingFaceFolder":
        config_path = os.path.join(path, CONFIG)
        config = Config.read(config_path, read_json(config_path))
        files = _files(path)
        tensors = _tensors(files)
        values = config.metadata | tokenizer.tokenizer_metadata(path, config)
        metadata = Metadata(values | embedding.pooling(path, config), path)
        further = embedding.matrices(path, config)
        files |= {name: tensor.file for name, tensor in further.items()}
        views = views_of(tensors | further, config)
        return cls(path, metadata, views, config.made, files)

    def rows(self, name: str, start: int, count: int) -> np.ndarray:
        self.tensor(name)
        if name in self._made:
            return self._made[name].view(np.uint8)
        return self._views[name].rows(start, count)

    @property
    def size(self) -> int:
        return sum(file.size for file in self._files.values())

    def digest_without_data(self) -> str:
        digest = hashlib.sha256()
        for name in (CONFIG, tokenizer.JSON, tokenizer.MODEL, tokenizer.SETTINGS):
            digest.update(_digest(os.path.join(self.path, name)))
        for file in self._files.values():
            digest.update(file.header_digest())
        return digest.hexdigest()

    def close(self) -> None:
        for file in self._files.values():
            file.close()


@contextmanager
def _no_collection() -> Iterator[None]:
    """Opening makes little garbage, but hundreds of thousands of objects: with collections between
    it takes twice as long."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _files(folder: str) -> dict[str, SafetensorsFile]:
    """By name: those that the index names, or the one without an index."""
    path = os.path.join(folder, _INDEX)
    if not os.path.exists(path):
        single = os.path.join(folder, _SINGLE)
        if not os.path.exists(single):
            problem = f"does not exist, nor does {_INDEX}; other formats of weights are not read"
            raise ModelFileError(single, "file", problem)
        return {_SINGLE: SafetensorsFile(single)}
    weight_map = read_json(path).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise ModelFileError(path, "weight_map", "is not an object that names files")
    for name in weight_map.values():
        if not isinstance(name, str) or os.path.basename(name) != name or not name:
            problem = f"names {quoted(str(name))}, which is no file in the folder"
            raise ModelFileError(path, "weight_map", problem)
    names = list(dict.fromkeys(weight_map.values()))
    if len(names) > _MOST_FILES:
        problem = f"names {len(names):,} files, but this build reads {_MOST_FILES:,} at most"
        raise ModelFileError(path, "weight_map", problem)
    files = {}
    for name in names:
        shard = os.path.join(folder, name)
        if not os.path.exists(shard):
            raise ModelFileError(shard, "file", f"does not exist; {_INDEX} names it")
        files[name] = SafetensorsFile(shard)
    for tensor, name in weight_map.items():
        if tensor not in files[name].tensors:
            problem = f"tensor {quoted(tensor)} is not in {quoted(name)}"
            raise ModelFileError(path, "weight_map", problem)
    return files


def _tensors(files: Mapping[str, SafetensorsFile]) -> dict[str, Stored]:
    tensors: dict[str, Stored] = {}
    for file in files.values():
        for name, tensor in file.tensors.items():
            if name in tensors:
                other = os.path.basename(tensors[name].file.path)
                raise tensor.error(f"is in {other} too")
            tensors[name] = tensor
    if len(tensors) > _MOST_TENSORS:
        problem = f"are {len(tensors):,}, but this build reads {_MOST_TENSORS:,} at most"
        raise ModelFileError(next(iter(files.values())).path, "tensors", problem)
    return tensors


def _digest(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except FileNotFoundError:
        return b"none"
    except OSError as error:
        raise ModelFileError(path, "file", f"cannot be read: {error.strerror}") from None
