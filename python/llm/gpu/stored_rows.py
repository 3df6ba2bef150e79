"""The rows of a weight as its file holds them, where it may be parts of a matrix."""

import numpy as np

from llm.files.model_file import ModelFile
from llm.gpu.operations import Weight


def stored_rows(file: ModelFile, weight: Weight, start: int, count: int) -> np.ndarray:
    """The bytes of its rows start to start + count: uint8, (bytes,). A view where it can be.

    Errors as of `ModelFile.rows`.
    """
    if not weight.height:
        return file.rows(weight.tensor, weight.first_row + start, count)
    found, end = [], start + count
    while start < end:
        part, skipped = divmod(start, weight.height)
        rows = min(weight.height - skipped, end - start)
        first = part * weight.of_height + weight.first_row + skipped
        found.append(file.rows(weight.tensor, first, rows))
        start += rows
    return found[0] if len(found) == 1 else np.concatenate(found)
