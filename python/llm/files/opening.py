"""Opens a model by its path, whatever it is."""

import os

from llm.files.folder.folder import CONFIG, HuggingFaceFolder
from llm.files.gguf import GgufFile
from llm.files.model_file import ModelFile
from llm.files.quantized import QuantizedFile
from llm.files.split_gguf import SplitGguf


def open_model(path: str, quantize: str = "") -> ModelFile:
    """A GGUF file, the first of a split one, or a Hugging Face folder.

    `quantize` is "", "q8_0" or "q4_k": what float matrices become while they are read. Raises
    ModelFileError, UnsupportedModelError, and RequestError for other names.
    """
    file = _opened(path)
    return QuantizedFile(file, quantize) if quantize else file


def _opened(path: str) -> ModelFile:
    if os.path.isfile(os.path.join(path, CONFIG)):
        return HuggingFaceFolder.open(path)
    file = GgufFile.open(path)
    if file.metadata.int("split.count", 1) > 1:
        return SplitGguf.open(file)
    return file
