"""A model's forward pass as data: built once, run by every executor, replayed unchanged.

A tape is recorded for at most `rows` tokens and `outputs` rows of logits; how many there are in a
run stands in the state buffer, so the tape stays the same from token to token. A tape without
outputs ends where the head of the others begins: with the hidden rows of all tokens.
"""

from dataclasses import dataclass, field

from llm.gpu.operations import (
    Activation,
    Attend,
    CacheSlab,
    CacheStore,
    Combine,
    Count,
    Embed,
    GatedUnit,
    MatMul,
    MixStreams,
    Operation,
    Pairing,
    Rescale,
    RMSNorm,
    Rotate,
    SelectRows,
    SoftCap,
    Sparsify,
    Tensor,
    Weight,
)

ALIGNMENT = 4  # floats: kernels read activations as vec4


@dataclass(slots=True)
class Tape:
    """Records operations, checking shapes; ValueError is a mistake in an architecture file."""

    rows: int  # at most this many tokens a run
    outputs: int  # at most this many rows of logits
    operations: list[Operation] = field(default_factory=list)
    work_floats: int = 0  # size of the work buffer that this tape needs
    logits: Tensor | None = None  # (O, V), set by the architecture at the end
    hidden: Tensor | None = None  # (T, C) after the output norm, where there are no logits

    def tensor(self, width: int, *, of: Count = Count.ROWS) -> Tensor:
        """Activations of `width` floats for each token, or for each output row."""
        rows = self.rows if of is Count.ROWS else self.outputs
        made = Tensor(self.work_floats, rows, width)
        self.work_floats += -(-rows * width // ALIGNMENT) * ALIGNMENT
        return made

    def embed(self, weight: Weight, y: Tensor, scale: float = 1.0) -> None:
        _same("embed width", weight.columns, y.width)
        self.operations.append(Embed(weight, y, scale))

    def rms_norm(
        self,
        weight: Weight | None,
        x: Tensor,
        y: Tensor,
        eps: float,
        *,
        residual: Tensor | None = None,
        count: Count = Count.ROWS,
        parts: int = 1,
        scale: float = 1.0,
    ) -> None:
        if x.width % parts:
            raise ValueError(f"rms_norm: {parts} parts of a width of {x.width}")
        if weight is not None:
            _same("rms_norm width", weight.columns * parts, x.width)
        _same("rms_norm output width", x.width, y.width)
        if residual is not None:
            _same("rms_norm residual width", residual.width, y.width)
        self.operations.append(RMSNorm(weight, x, y, residual, eps, count, parts, scale))

    def matmul(
        self,
        weight: Weight,
        x: Tensor,
        y: Tensor,
        *,
        residual: Tensor | None = None,
        count: Count = Count.ROWS,
    ) -> None:
        _same(f"{weight.name} columns", weight.columns, x.width)
        _same(f"{weight.name} rows", weight.rows, y.width)
        if residual is not None:
            _same(f"{weight.name} residual width", residual.width, y.width)
        self.operations.append(MatMul(weight, x, y, residual, count))

    def rotate(
        self,
        x: Tensor,
        table: Weight,
        *,
        heads: int,
        pairing: Pairing,
        norm: Weight | None = None,
        eps: float = 0.0,
        scale: float = 1.0,
    ) -> None:
        """`eps` is the norm's. A table of fewer than D/2 pairs leaves the rest of a head as is."""
        if x.width % heads or 2 * table.rows * heads > x.width:
            raise ValueError(f"rotate: {table.rows} pairs, {heads} heads, width {x.width}")
        if norm is not None:
            _same("rotate norm", norm.columns * heads, x.width)
        self.operations.append(Rotate(norm, table, x, heads, pairing, eps, scale))

    def cache_store(self, k: Tensor, v: Tensor, cache: CacheSlab) -> None:
        _same("cache key width", k.width, cache.width)
        _same("cache value width", v.width, cache.width)
        self.operations.append(CacheStore(k, v, cache))

    def attend(
        self, q: Tensor, cache: CacheSlab, y: Tensor, *, heads: int, kv_heads: int, window: int = 0
    ) -> None:
        _same("attend output width", q.width, y.width)
        _same("attend head size", q.width * kv_heads, cache.width * heads)
        if heads % kv_heads:
            raise ValueError(f"{heads} query heads do not share {kv_heads} key/value heads evenly")
        self.operations.append(Attend(q, cache, y, heads, kv_heads, window))

    def gated_unit(self, gate: Tensor, up: Tensor, y: Tensor, activation: Activation) -> None:
        _same("gated_unit width", gate.width, up.width)
        _same("gated_unit output width", gate.width, y.width)
        self.operations.append(GatedUnit(gate, up, y, activation))

    def soft_cap(self, x: Tensor, cap: float) -> None:
        self.operations.append(SoftCap(x, cap))

    def combine(
        self,
        x: Tensor,
        y: Tensor,
        *,
        other: Tensor | None = None,
        weight: Weight | None = None,
        factor: float = 1.0,
        scale: float = 1.0,
    ) -> None:
        _same("combine output width", x.width, y.width)
        if other is not None:
            _same("combine width", x.width, other.width)
        if weight is not None:
            _same("combine weight", x.width, weight.columns)
        self.operations.append(Combine(x, other, weight, y, factor, scale))

    def rescale(self, x: Tensor, like: Tensor, y: Tensor) -> None:
        _same("rescale width", x.width, like.width)
        _same("rescale output width", x.width, y.width)
        self.operations.append(Rescale(x, like, y))

    def mix_streams(
        self, weight: Weight, router: Tensor, x: Tensor, z: Tensor, y: Tensor, bias: float = 0.0
    ) -> None:
        _same("mix_streams columns", weight.columns, router.width)
        _same("mix_streams output width", x.width, y.width)
        _same("mix_streams width", x.width * weight.rows, z.width * router.width**2)
        self.operations.append(MixStreams(weight, router, x, z, y, bias))

    def sparsify(self, x: Tensor, factor: float) -> None:
        self.operations.append(Sparsify(x, factor))

    def select_rows(self, x: Tensor, y: Tensor) -> None:
        _same("select_rows width", x.width, y.width)
        self.operations.append(SelectRows(x, y))


def _same(what: str, first: int, second: int) -> None:
    if first != second:
        raise ValueError(f"{what}: {first} and {second} should be equal")
