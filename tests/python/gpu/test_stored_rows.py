"""Rows of weights that are a whole matrix, some of its rows, or a part of each expert of it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.architectures.gemma4 import EXPERTS, WIDTH, write_gemma4

from llm.files.formats import FORMATS
from llm.files.gguf import GgufFile
from llm.gpu.operations import Weight
from llm.gpu.stored_rows import stored_rows

NAME = "blk.0.ffn_gate_up_exps.weight"
COUNT, BOTH = 7, 192  # experts, and rows of each
WHOLE = Weight("whole", FORMATS[0], COUNT * BOTH, WIDTH, NAME)
SOME = replace(WHOLE, rows=300, first_row=150)
PART = replace(WHOLE, rows=COUNT * 80, first_row=100, height=80, of_height=BOTH)


@pytest.mark.parametrize(
    ("start", "count"), [(0, 1), (79, 1), (0, 80), (80, 80), (30, 60), (79, 162), (0, 300)]
)
def test_rows(tmp_path: Path, start: int, count: int) -> None:
    with GgufFile.open(str(write_gemma4(tmp_path / "tiny.gguf", EXPERTS))) as file:
        matrix = file.data(NAME).view(np.float32).reshape(COUNT, BOTH, WIDTH)
        rows = matrix.reshape(-1, WIDTH)
        for weight, expected in (
            (WHOLE, rows),
            (SOME, rows[150:450]),
            (PART, matrix[:, 100:180].reshape(-1, WIDTH)),
        ):
            found = stored_rows(file, weight, start, count).view(np.float32).reshape(-1, WIDTH)
            assert np.array_equal(found, expected[start : start + count])
