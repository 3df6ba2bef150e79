"""Operations on experts: matrices of which each row chooses a few for itself.

Letters: T rows of this run, E experts, U of them used by a row, M rows and K columns of the matrix
of one expert, C model width.
"""

from dataclasses import dataclass
from enum import IntEnum

from llm.gpu.operations.operands import Region, Tensor, Weight

MAX_EXPERTS = 512  # of a layer: shared memory of the kernel that chooses
MAX_USED = 32  # of a row
TILE_PAIRS = 8  # rows that use one expert, of the smallest tile of them
TILE_WORDS = 3  # of the lists of these, as expert_lists.glslh has them


class Scoring(IntEnum):
    """What a router makes of its logits; the kernel's own numbers."""

    SOFTMAX = 0  # over all experts
    SIGMOID = 1


@dataclass(frozen=True, slots=True)
class Choice:
    """Which experts each row uses, best first, and what share of their sum each has.

    `rows` holds in each row the numbers of the experts, as floats, and then their shares. `lists`
    is room where an executor may list the rows of each expert, in tiles.
    """

    rows: Tensor  # (T, 2*U)
    lists: Tensor  # (1, words)
    experts: int  # E

    @property
    def used(self) -> int:
        return self.rows.width // 2

    @property
    def pairs(self) -> int:
        """Of a row and an expert that it uses, at most."""
        return self.rows.rows * self.used

    @property
    def pairs_at(self) -> int:
        """The word of the lists where these start, behind the tiles."""
        return list_words(self.pairs, self.experts) - self.pairs

    @property
    def region(self) -> Region:
        return self.rows.region


def most_tiles(pairs: int, experts: int, size: int) -> int:
    """Tiles of up to `size` pairs of a row and an expert, none of which is of two experts."""
    return pairs // size + min(pairs, experts)


def list_words(pairs: int, experts: int) -> int:
    """Of the lists of so many pairs."""
    return 1 + TILE_WORDS * most_tiles(pairs, experts, TILE_PAIRS) + pairs


@dataclass(frozen=True, slots=True)
class Route:
    """Chooses for each row the experts whose score plus bias is largest; no bias where it is None.

    An expert's share is its score; where `normalised`, over the sum of those of the row; times
    `scale`, and its gain where there are some. Sources: Shazeer et al. 2017, Outrageously Large
    Neural Networks; for sigmoids and the bias, DeepSeek-AI 2024, DeepSeek-V3.
    """

    logits: Tensor  # (T, E)
    bias: Weight | None  # (1, E)
    choice: Choice
    scoring: Scoring
    normalised: bool
    scale: float
    gains: Weight | None = None  # (1, E)

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.logits.region,)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.choice.region,)


@dataclass(frozen=True, slots=True)
class ExpertMatMul:
    """y[r, u] = weight[e] times x[r, u] + bias[e], where e is the u-th of the experts of row r.

    All of them have the same x[r] where x has no more than K columns; no bias where it is None.
    """

    weight: Weight  # (E*M, K), expert after expert
    bias: Weight | None  # (E, M)
    x: Tensor  # (T, K) or (T, U*K)
    y: Tensor  # (T, U*M)
    choice: Choice

    @property
    def height(self) -> int:
        """M"""
        return self.y.width // self.choice.used

    @property
    def inputs(self) -> Tensor:
        """x as rows of K: one for each row of the run, or one for each of its experts."""
        rows = self.x.rows * self.x.width // self.weight.columns
        return Tensor(self.x.offset, rows, self.weight.columns)

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.x.region, self.choice.region)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.y.region,)


@dataclass(frozen=True, slots=True)
class ExpertSum:
    """y[r] = residual[r] + sum over u of share[r, u] * x[r, u]; no residual where it is None."""

    x: Tensor  # (T, U*C)
    choice: Choice
    y: Tensor  # (T, C)
    residual: Tensor | None  # (T, C); may be y itself

    @property
    def reads(self) -> tuple[Region, ...]:
        found = (self.x.region, self.choice.region)
        return found if self.residual is None else (*found, self.residual.region)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.y.region,)


@dataclass(frozen=True, slots=True)
class GatedAdd:
    """y[r] = residual[r] + sigmoid(gate[r]) * x[r]: an expert that every row uses, by a share."""

    x: Tensor  # (T, C)
    gate: Tensor  # (T, 1)
    y: Tensor  # (T, C)
    residual: Tensor  # (T, C); may be y itself

    @property
    def reads(self) -> tuple[Region, ...]:
        return (self.x.region, self.gate.region, self.residual.region)

    @property
    def writes(self) -> tuple[Region, ...]:
        return (self.y.region,)
