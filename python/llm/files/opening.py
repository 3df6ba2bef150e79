"""Opens a model by its path, whatever it is."""

import os

from llm.files.folder.folder import CONFIG, HuggingFaceFolder
from llm.files.gguf import GgufFile
from llm.files.model_file import ModelFile
from llm.files.split_gguf import SplitGguf


def open_model(path: str) -> ModelFile:
    """A GGUF file, the first of a split one, or a Hugging Face folder.

    Raises ModelFileError, UnsupportedModelError.
    """
    if os.path.isfile(os.path.join(path, CONFIG)):
        return HuggingFaceFolder.open(path)
    file = GgufFile.open(path)
    if file.metadata.int("split.count", 1) > 1:
        return SplitGguf.open(file)
    return file
