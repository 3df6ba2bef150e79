"""Reading runners' closing lines."""

import pytest

from check.counts import Counts, judge, read_counts


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        pytest.param("=== 12 passed in 0.31s ===", Counts(12, 0), id="pytest, all well"),
        pytest.param(
            "== 2 failed, 10 passed, 1 skipped, 3 warnings in 61.20s (0:01:01) ==",
            Counts(10, 2, 1),
            id="pytest, some failed",
        ),
        pytest.param("1 passed, 2 errors in 0.1s", Counts(1, 2), id="an error is a failure"),
        pytest.param("== 1 error in 0.1s ==", Counts(0, 1), id="one error"),
        pytest.param("== 3 xfailed, 1 xpassed in 0.1s ==", Counts(3, 1), id="expected failures"),
        pytest.param("== no tests ran in 0.01s ==", Counts(), id="nothing ran"),
        pytest.param("\x1b[32m== \x1b[1m5 passed\x1b[0m in 0.1s ==", Counts(5, 0), id="colours"),
        pytest.param("7 passed, 1 failed\nengine noise\n", Counts(7, 1), id="noise after it"),
        pytest.param("1 passed, 0 failed\n2 passed, 3 failed\n", Counts(2, 3), id="the last one"),
        pytest.param("it crashed", Counts(), id="no closing line"),
    ],
)
def test_read_counts(output: str, expected: Counts) -> None:
    assert read_counts(output) == expected


@pytest.mark.parametrize(
    ("counts", "status", "expected"),
    [
        pytest.param(Counts(3, 0), 0, Counts(3, 0), id="all well"),
        pytest.param(Counts(3, 1), 1, Counts(3, 1), id="failed as counted"),
        pytest.param(Counts(3, 0), -11, Counts(3, 1), id="crashed after the tests"),
        pytest.param(Counts(), 0, Counts(0, 1), id="nothing ran"),
        pytest.param(Counts(0, 0, 4), 0, Counts(0, 1, 4), id="everything skipped"),
    ],
)
def test_judge(counts: Counts, status: int, expected: Counts) -> None:
    judged, complaint = judge(counts, status)
    assert judged == expected
    assert bool(complaint) == (expected.failed > 0)


def test_a_filter_may_leave_a_group_empty() -> None:
    assert judge(Counts(), 5, may_be_empty=True) == (Counts(), "")
    assert judge(Counts(), -11, may_be_empty=True)[0].failed == 1


def test_counts_add_up() -> None:
    assert str(Counts(1, 2, 3) + Counts(10, 20, 30)) == "11 passed, 22 failed"
