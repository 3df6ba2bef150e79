"""How positions turn pairs of values, from config.json to GGUF's keys and vectors.

transformers 5 has it in `rope_parameters`, perhaps by kinds of layers, earlier ones in
`rope_theta` and `rope_scaling`.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llm.errors import ModelFileError, UnsupportedModelError
from llm.files.metadata import Metadata

Floats = NDArray[np.float32]
_KINDS = ("default", "dynamic", "linear", "llama3", "longrope", "proportional", "su", "yarn")
_NEVER = 1e30  # what divides the frequency of a pair that does not turn


@dataclass(frozen=True, slots=True)
class Rope:
    """As config.json has it; `values` and `vectors` are as GGUF does."""

    base: float | None
    window_base: float | None
    kind: str
    given: Metadata  # what describes the kind
    context: int  # tokens that the model runs with
    trained: int  # tokens that it was trained for before positions were scaled
    share: float  # of a head that is turned

    @classmethod
    def read(cls, config: Metadata) -> "Rope":
        found = config.get("rope_parameters", config.get("rope_scaling", {}))
        if not isinstance(found, dict):
            raise ModelFileError(config.path, "rope_scaling", "is not an object")
        window = found.get("sliding_attention")
        everything = found.get("full_attention")
        found = everything if isinstance(everything, dict) else found
        given = Metadata({key: v for key, v in found.items() if v is not None}, config.path)
        kind = given.str("rope_type", given.str("type", "default"))
        if kind not in _KINDS:
            raise UnsupportedModelError(config.path, "rope_type", kind, _KINDS)
        context = config.int("max_position_embeddings", 2, minimum=2)
        original = "original_max_position_embeddings"
        share = given.float("partial_rotary_factor", config.float("partial_rotary_factor", 1.0))
        if not 0 < share <= 1:
            problem = f"is {share:g}, but must be above 0, and 1 at most"
            raise ModelFileError(config.path, "partial_rotary_factor", problem)
        return cls(
            given.float("rope_theta", config.float("rope_theta", None)),
            Metadata(window if isinstance(window, dict) else {}, config.path).float(
                "rope_theta", None
            ),
            kind,
            given,
            context,
            given.int(original, config.int(original, context, minimum=2), minimum=2),
            share,
        )

    def values(self, head_size: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        if self.base is not None:
            values["rope.freq_base"] = self.base
        if self.window_base is not None:
            values["rope.freq_base_swa"] = self.window_base
        if self.share != 1.0 and self.kind != "proportional":
            values["rope.dimension_count"] = int(head_size * self.share)
        if self.kind == "linear" or (self.kind == "yarn" and self._is_truncated):
            values["rope.scaling.type"] = self.kind
            values["rope.scaling.factor"] = self._factor()
        if self.kind in ("longrope", "su", "yarn"):
            values["rope.scaling.original_context_length"] = self.trained
        if self.kind in ("longrope", "su"):
            stretch = self.context / self.trained
            grown = 1 + math.log(stretch) / math.log(self.trained) if stretch > 1 else 1.0
            factor = self.given.float("attention_factor", math.sqrt(grown))
            values["rope.scaling.attn_factor"] = factor
        if self.kind == "yarn":
            values |= self._yarn()
        return values

    def _yarn(self) -> dict[str, float]:
        """Where the folder says more than a factor. GGUF's attention factor comes on top of what
        YaRN itself gives, a folder's stands in its place."""
        own = self._yarn_magnitude(1.0)
        whole = self.given.float("attention_factor", own)
        both = [self.given.float(key, 0.0) for key in ("mscale", "mscale_all_dim")]
        if "attention_factor" not in self.given and all(both):
            whole = self._yarn_magnitude(both[0]) / self._yarn_magnitude(both[1])
        if not self._is_truncated:  # the divisors are given, and no scaling
            return {"rope.scaling.attn_factor": whole}
        keys = ("beta_fast", "beta_slow")
        values = {f"rope.scaling.yarn_{key}": self.given.float(key, None) for key in keys}
        if whole != own:
            values["rope.scaling.attn_factor"] = whole / own
        return {key: value for key, value in values.items() if value is not None}

    def _yarn_magnitude(self, scale: float) -> float:
        return 1 + 0.1 * scale * math.log(max(self._factor(), 1.0))

    @property
    def _is_truncated(self) -> bool:
        """Whether the pairs between which frequencies are mixed are whole numbers, as in GGUF."""
        return self.given.bool("truncate", True)

    def _factor(self) -> float:
        return self._above_zero("factor")

    def _above_zero(self, key: str, usual: float | None = None) -> float:
        value = self.given.float(key) if usual is None else self.given.float(key, usual)
        if value <= 0:
            path = self.given.path
            raise ModelFileError(path, f"rope_scaling.{key}", f"{value:g} is not above 0")
        return value

    def vectors(self, head_size: int) -> dict[str, Floats]:
        """What GGUF files hold of it as tensors."""
        pairs = int(head_size * self.share) // 2
        if self.kind == "llama3":
            return {"rope_freqs.weight": self._llama3(pairs)}
        if self.kind == "yarn" and not self._is_truncated:
            return {"rope_freqs.weight": self._exact_yarn(pairs)}
        if self.kind == "proportional":  # pairs lie as if all of the head were turned
            divisors = np.full(head_size // 2, _NEVER, np.float32)
            divisors[:pairs] = 1.0
            return {"rope_freqs.weight": divisors}
        if self.kind in ("longrope", "su"):
            names = {"rope_factors_long.weight": "long_factor"}
            names["rope_factors_short.weight"] = "short_factor"
            return {name: self._factors(key, pairs) for name, key in names.items()}
        return {}

    def _llama3(self, pairs: int) -> Floats:
        """What divides the frequency of each pair, (pairs,).

        Slow pairs are divided by `factor`, fast ones not at all, those between in part. Source:
        transformers, modeling_rope_utils, for Llama 3.1.
        """
        factor = self._factor()
        low, high = self.given.float("low_freq_factor"), self.given.float("high_freq_factor")
        if not 0 < low < high:
            problem = f"is {low:g}, but must be above 0 and below high_freq_factor, {high:g}"
            raise ModelFileError(self.given.path, "rope_scaling.low_freq_factor", problem)
        frequency = np.power(self.base or 10_000.0, -np.arange(pairs) / pairs)  # radians a token
        turns = self.trained * frequency / (2 * np.pi)  # in the trained context
        share = np.clip((turns - low) / (high - low), 0.0, 1.0)
        return (1.0 / ((1.0 - share) / factor + share)).astype(np.float32)

    def _exact_yarn(self, pairs: int) -> Floats:
        """What divides the frequency of each pair, (pairs,): the factor for those that turn less
        than `beta_slow` times in the trained context, 1 for those that turn more than `beta_fast`
        times, and between them a mixture of both frequencies. Source: Peng et al. 2023, YaRN."""
        base = self.base or 10_000.0
        if base <= 1:
            raise ModelFileError(self.given.path, "rope_theta", f"{base:g} is not above 1")

        def pair_of(key: str, usual: float) -> float:
            """The pair that turns so often in the trained context."""
            turns = self._above_zero(key, usual)
            return pairs * math.log(self.trained / (turns * 2.0 * math.pi)) / math.log(base)

        first = max(pair_of("beta_fast", 32.0), 0.0)
        last = min(pair_of("beta_slow", 1.0), 2 * pairs - 1)
        scaled = np.clip((np.arange(pairs) - first) / max(last - first, 1e-3), 0.0, 1.0)
        return np.asarray(1.0 / (scaled / self._factor() + 1.0 - scaled), np.float32)

    def _factors(self, key: str, pairs: int) -> Floats:
        found: Any = self.given.get(key)
        numbers = isinstance(found, list) and all(type(x) in (int, float) for x in found)
        if not numbers or len(found) != pairs:
            problem = f"is not {pairs:,} numbers, one for each pair that is turned"
            raise ModelFileError(self.given.path, f"rope_scaling.{key}", problem)
        return np.array(found, np.float32)
