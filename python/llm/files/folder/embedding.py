"""What sentence-transformers puts into a folder beside the model: how one vector is made of many,
and matrices that it then goes through."""

import os
from collections.abc import Mapping
from typing import Any, Final

from llm.errors import ModelFileError, UnsupportedModelError
from llm.files.folder.config import Config
from llm.files.folder.json_file import read_json
from llm.files.folder.safetensors import SafetensorsFile, Stored
from llm.files.metadata import Metadata
from llm.files.wording import quoted

CONFIG: Final = "config.json"
_POOLING = os.path.join("1_Pooling", CONFIG)
_POOLING_TYPES = {  # as GGUF numbers them
    "pooling_mode_mean_tokens": 1,
    "pooling_mode_cls_token": 2,
    "pooling_mode_lasttoken": 3,
}
_DENSE: Final = {"2_Dense": "dense_2.weight", "3_Dense": "dense_3.weight"}
_MATRIX: Final = "linear.weight"


def pooling(folder: str, config: Config) -> dict[str, int]:
    """Raises ModelFileError."""
    found = read_json(os.path.join(folder, _POOLING), optional=True)
    types = [number for key, number in _POOLING_TYPES.items() if found.get(key) is True]
    if not types:
        return {}
    return {f"{config.family.architecture}.pooling_type": types[0]}


def matrices(folder: str, config: Config) -> dict[str, Stored]:
    """By their names in GGUF. Raises ModelFileError, UnsupportedModelError."""
    found: dict[str, Stored] = {}
    for place, name in _DENSE.items():
        path = os.path.join(folder, place, CONFIG)
        settings = read_json(path, optional=True)
        if not settings:
            continue
        if config.family.architecture != "gemma-embedding":
            wanted = ["such matrices of EmbeddingGemma only"]
            raise UnsupportedModelError(path, "what follows the pooling", place, wanted)
        _refuse_more(path, settings)
        file = SafetensorsFile(os.path.join(folder, place, "model.safetensors"))
        if _MATRIX not in file.tensors:
            raise ModelFileError(file.path, f"tensor {quoted(_MATRIX)}", "is missing")
        found[name] = file.tensors[_MATRIX]
    return found


def _refuse_more(path: str, found: Mapping[str, Any]) -> None:
    settings = Metadata(found, path)
    if settings.bool("bias", True):
        raise UnsupportedModelError(path, "bias", "true", ["false"])
    activation = settings.str("activation_function", "Tanh")
    if not activation.endswith("Identity"):
        raise UnsupportedModelError(path, "activation_function", activation, ["Identity"])
