"""Opens a model by its path, whatever kind of file it is."""

from llm.files.gguf import GgufFile
from llm.files.model_file import ModelFile
from llm.files.split_gguf import SplitGguf


def open_model(path: str) -> ModelFile:
    """A GGUF file, or the first of a split one. Raises ModelFileError, UnsupportedModelError."""
    file = GgufFile.open(path)
    if file.metadata.int("split.count", 1) > 1:
        return SplitGguf.open(file)
    return file
