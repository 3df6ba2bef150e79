"""The published numbers, and that the words of a seed and a position all matter."""

import pytest

from llm.gpu.philox import Counter, Key, philox, uniform

ALL = 0xFFFFFFFF


# Random123's kat_vectors for philox4x32 with 10 rounds.
@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((ALL, ALL, ALL, ALL), (ALL, ALL), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
    ids=["zeros", "ones", "digits of pi"],
)
def test_published_vectors(counter: Counter, key: Key, expected: Counter) -> None:
    assert philox(counter, key) == expected


def test_uniform_has_24_bits_of_the_first_word() -> None:
    assert uniform(0, 0) == (0x6627E8D5 >> 8) / 2**24
    key = 0x299F31D0 << 32 | 0xA4093822
    assert uniform(key, 5) == (philox((5, 0, 0, 0), (0xA4093822, 0x299F31D0))[0] >> 8) / 2**24


def test_seeds_and_positions_give_others() -> None:
    seeds = [0, 1, 1 << 31, 1 << 32, 1 << 63]
    found = {uniform(seed, position) for seed in seeds for position in range(200)}
    assert len(found) == 1000
    assert 0.0 <= min(found) < 0.01
    assert 0.99 < max(found) < 1.0
