"""Random numbers from a counter: the same ones here and in shaders/include/philox.glslh.

Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3": Philox4x32, 10 rounds.
"""

Counter = tuple[int, int, int, int]
Key = tuple[int, int]

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
WORD = 0xFFFFFFFF


def philox(counter: Counter, key: Key) -> Counter:
    """Four random words of 32 bits for four words of counter and two of key."""
    first, second, third, fourth = counter
    first_key, second_key = key
    for _ in range(ROUNDS):
        product, other = first * MULTIPLIERS[0], third * MULTIPLIERS[1]
        first, second, third, fourth = (
            other >> 32 ^ second ^ first_key,
            other & WORD,
            product >> 32 ^ fourth ^ second_key,
            product & WORD,
        )
        first_key = first_key + KEY_STEPS[0] & WORD
        second_key = second_key + KEY_STEPS[1] & WORD
    return first, second, third, fourth


def uniform(seed: int, position: int, stream: int = 0) -> float:
    """A number in [0, 1) of 24 bits, so that float32 holds it; `seed` has 64 bits."""
    word = philox((position, stream, 0, 0), (seed & WORD, seed >> 32))[0]
    return (word >> 8) * 2.0**-24
