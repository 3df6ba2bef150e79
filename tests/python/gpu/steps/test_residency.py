"""The search for the groups that run together asks few questions and trusts only a yes."""

import pytest

from llm.gpu.steps.residency import resident_groups


@pytest.mark.parametrize("limit", [2, 3, 5, 16, 63, 64, 66, 132, 144, 1023])
def test_finds_the_limit(limit: int) -> None:
    asked = []

    def meet(groups: int) -> bool:
        asked.append(groups)
        return groups <= limit

    assert resident_groups(meet) == limit
    assert len(asked) <= 20
    assert max(asked) <= 1024


@pytest.mark.parametrize("limit", [0, 1])
def test_not_even_two(limit: int) -> None:
    assert resident_groups(lambda groups: groups <= limit) == 0


def test_more_than_asked_for() -> None:
    assert resident_groups(lambda _groups: True, most=100) == 100
