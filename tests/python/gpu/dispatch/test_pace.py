"""Runs of a prompt are so short that no driver takes the device for hung."""

import pytest

from llm.gpu.dispatch.pace import RUN_SECONDS, quick_rows
from llm.gpu.program import bucket


@pytest.mark.parametrize(
    ("seconds", "rows"),
    [
        pytest.param(0.0, 512, id="no time at all"),
        pytest.param(0.01, 512, id="a large GPU"),
        pytest.param(1 / 16, 512, id="just all rows"),
        pytest.param(1 / 15.9, 256, id="just not all rows"),
        pytest.param(0.2, 128, id="a small GPU"),
        pytest.param(1.0, 32, id="a large model there"),
        pytest.param(1.1, 16, id="too slow for what was tried"),
        pytest.param(2.1, 8, id="much too slow for it"),
        pytest.param(40.0, 1, id="too slow for anything"),
    ],
)
def test_rows_by_what_32_took(seconds: float, rows: int) -> None:
    assert quick_rows(32, seconds * RUN_SECONDS, 512) == rows


@pytest.mark.parametrize("most", [1, 7, 8, 100, 256, 512])
@pytest.mark.parametrize("seconds", [1e-4, 0.01, 0.05, 0.3, 2.0, 50.0])
def test_rows_fit_a_tape_and_the_program(most: int, seconds: float) -> None:
    tried = min(32, most)
    rows = quick_rows(tried, seconds, most)
    assert 1 <= rows <= most
    assert bucket(rows, most) == rows
    assert rows == 1 or rows * seconds / tried <= RUN_SECONDS * 1.001
