"""DRY by its definition, token by token, against a search that compares everything."""

import random

import pytest
from support.fake_model import FakeTokenizer

from llm.generate.repetition import LARGEST_BIAS, RepeatedRuns
from llm.generate.request import SamplingParams


def params(**fields: object) -> SamplingParams:
    given = {"dry_multiplier": 0.8, "dry_base": 1.75, "dry_allowed_length": 2, "dry_breakers": ()}
    return SamplingParams(**{**given, **fields})  # type: ignore[arg-type]


def by_search(tokens: list[int], window: int, allowed: int, breakers: set[int]) -> dict[int, int]:
    """The longest run that each token would go on with."""
    tokens = tokens[-window:] if window else tokens
    found: dict[int, int] = {}
    for place in range(len(tokens) - 1):
        length = 0
        while (
            length <= place
            and tokens[place - length] == tokens[-1 - length]
            and tokens[place - length] not in breakers
        ):
            length += 1
        if length >= max(1, allowed):
            following = tokens[place + 1]
            found[following] = max(found.get(following, 0), length)
    return found


@pytest.mark.parametrize("window", [0, 7, 64])
@pytest.mark.parametrize("allowed", [0, 1, 2, 5])
@pytest.mark.parametrize("breakers", ["", "a"])
def test_against_a_search(window: int, allowed: int, breakers: str) -> None:
    source = random.Random(f"{window} {allowed}")
    given = params(dry_window=window, dry_allowed_length=allowed, dry_breakers=tuple(breakers))
    tokens = [source.choice(b"abc") for _ in range(5)]
    runs = RepeatedRuns(given, FakeTokenizer(), tokens)  # type: ignore[arg-type]
    for _ in range(150):
        longest = by_search(tokens, window, allowed, set(breakers.encode()))
        expected = {
            token: -min(0.8 * 1.75 ** (length - allowed), LARGEST_BIAS)
            for token, length in longest.items()
        }
        assert runs.biases() == pytest.approx(expected)
        tokens.append(source.choice(b"abc"))
        runs.note(tokens[-1])


def test_a_breaker_across_tokens() -> None:
    text = list(b"one two## one two##")
    plain = RepeatedRuns(params(), FakeTokenizer(), text)  # type: ignore[arg-type]
    broken = RepeatedRuns(params(dry_breakers=("##",)), FakeTokenizer(), text)  # type: ignore[arg-type]
    assert ord(" ") in plain.biases()
    assert broken.biases() == {}


def test_a_long_repetition_stays_a_number() -> None:
    runs = RepeatedRuns(params(dry_base=9.0), FakeTokenizer(), [7] * 900)  # type: ignore[arg-type]
    assert runs.biases() == {7: -LARGEST_BIAS}
