"""Rotary embeddings as model files describe them, and tables of their frequencies.

Tables are exact enough for positions far beyond any context.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from llm.errors import ModelFileError, UnsupportedModelError
from llm.files.model_file import ModelFile
from llm.gpu.operations import Weight
from llm.gpu.program import Floats
from llm.models.weights import F32, WeightTable, positive

SCALINGS = ("linear", "longrope", "none", "yarn")


def rope_table(size: int, base: float, factor: float | NDArray[np.float64] = 1.0) -> Floats:
    """Turns a position makes, for each pair of `size` values, as (size/2, 2) sums of two floats.

    Pair i turns by position * base^(-2i/size) / factor radians. Source: Su et al. 2021, RoFormer;
    `factor` is linear position scaling (Chen et al. 2023), or one factor a pair, (size/2,).
    """
    pairs = np.arange(size // 2, dtype=np.float64)
    turns = np.power(base, -2.0 * pairs / size) / factor / (2.0 * np.pi)  # (size/2,)
    high = turns.astype(np.float32)
    low = (turns - high).astype(np.float32)
    return np.stack((high, low), axis=1)  # (size/2, 2)


def rope_weight(name: str, size: int) -> Weight:
    return Weight(name, F32, size // 2, 2)


@dataclass(frozen=True, slots=True)
class Rope:
    """A rotary embedding: the table of its frequencies, and what it multiplies lengths by."""

    weight: Weight  # (turned/2, 2)
    table: Floats  # (turned/2, 2)
    magnitude: float

    @classmethod
    def from_gguf(
        cls,
        file: ModelFile,
        table: WeightTable,
        architecture: str,
        head_size: int,
        context: int,
    ) -> "Rope":
        """That of all layers, for sequences of at most `context` tokens.

        Frequencies are divided by the factors in the file: `rope_freqs`, or where there are none,
        those for texts longer than the original context or those for shorter ones (Ding et al.
        2024, LongRoPE). Raises ModelFileError, UnsupportedModelError.
        """
        meta = file.metadata

        def number(name: str, default: float) -> float:
            key = f"{architecture}.rope.{name}"
            return positive(file, key, meta.float(key, default=default))

        size_key = f"{architecture}.rope.dimension_count"
        size = meta.int(size_key, default=head_size)
        if size % 2 or not 0 < size <= head_size:
            problem = f"{size} is not even and up to the head size of {head_size}"
            raise ModelFileError(file.path, size_key, problem)
        scaling = meta.str(f"{architecture}.rope.scaling.type", default="linear")
        if scaling not in SCALINGS:
            key = f"{architecture}.rope.scaling.type"
            raise UnsupportedModelError(file.path, key, scaling, SCALINGS)
        base = number("freq_base", 10_000.0)
        factor = number("scaling.factor", number("scale_linear", 1.0))  # the key of old files
        if scaling == "none":
            factor = 1.0
        trained = meta.int(f"{architecture}.context_length", default=context)
        original = meta.int(f"{architecture}.rope.scaling.original_context_length", default=trained)
        by_length = "long" if context > original else "short"
        factors = table.positive_values("rope_freqs.weight", size // 2)
        if factors is None:
            factors = table.positive_values(f"rope_factors_{by_length}.weight", size // 2)
        magnitude = number("scaling.attn_factor", 1.0)
        divisors: float | NDArray[np.float64] = factor
        if scaling == "yarn":
            fast, slow = (
                number("scaling.yarn_beta_fast", 32.0),
                number("scaling.yarn_beta_slow", 1.0),
            )
            divisors = yarn_divisors(size, base, factor, original, fast, slow)
            log_factor = meta.float(f"{architecture}.rope.scaling.yarn_log_multiplier", default=0.0)
            magnitude *= yarn_magnitude(factor) / yarn_magnitude(factor, log_factor)
        if factors is not None:
            divisors = np.asarray(divisors * factors.astype(np.float64))
        return cls(rope_weight("rope", size), rope_table(size, base, divisors), magnitude)

    @classmethod
    def plain(cls, name: str, size: int, base: float) -> "Rope":
        """One without any scaling."""
        return cls(rope_weight(name, size), rope_table(size, base), 1.0)

    @classmethod
    def still(cls, size: int) -> "Rope":
        """That of layers which do not rotate: no position turns anything."""
        return cls(rope_weight("rope.still", size), np.zeros((size // 2, 2), np.float32), 1.0)

    @property
    def constants(self) -> Mapping[str, Floats]:
        return {self.weight.name: self.table}


def check_sections(file: ModelFile, architecture: str) -> None:
    """UnsupportedModelError where pairs of a head turn by a position that a text has not.

    The first three sections take turns, a pair each, and have the position of a token; what lies
    beyond a section's end would be the fourth's.
    """
    key = f"{architecture}.rope.dimension_sections"
    size = file.metadata.int(f"{architecture}.rope.dimension_count", 0)
    sections = [int(pairs) for pairs in file.metadata.numbers(key, ())]
    if sections and not all(pair < 3 * sections[pair % 3] for pair in range(size // 2)):
        wanted = [f"sections of all {size // 2} pairs"]
        raise UnsupportedModelError(file.path, key, sections, wanted)


def yarn_divisors(
    size: int, base: float, factor: float, original: int, fast: float, slow: float
) -> NDArray[np.float64]:
    """What YaRN divides the frequency of each pair by, (size/2,): `factor` for pairs that turn less
    than `slow` times in the original context, 1 for those that turn more than `fast` times, and
    between the two a mixture of both frequencies. Source: Peng et al. 2023, YaRN.
    """

    def pair_of(turns: float) -> float:
        """The pair that turns so often in the original context."""
        return size * math.log(original / (turns * 2.0 * math.pi)) / (2.0 * math.log(base))

    first = max(0.0, math.floor(pair_of(fast)))
    last = min(size - 1.0, math.ceil(pair_of(slow)))
    ramp = (np.arange(size // 2) - first) / max(0.001, last - first)
    scaled = np.clip(ramp, 0.0, 1.0)  # (size/2,), how much of a frequency is divided
    return np.asarray(1.0 / (scaled / factor + (1.0 - scaled)))


def yarn_magnitude(factor: float, log_factor: float = 1.0) -> float:
    """What YaRN multiplies the length of queries and keys by; `log_factor` is mostly 1."""
    return 1.0 + 0.1 * log_factor * math.log(factor) if factor > 1.0 else 1.0
