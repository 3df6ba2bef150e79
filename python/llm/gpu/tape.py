"""A model's forward pass as data: built once, run by every executor, replayed unchanged.

A tape is recorded for at most `rows` tokens and `outputs` rows of logits; how many there are in a
run stands in the state buffer, so the tape stays the same from token to token. A tape without
outputs ends where the head of the others begins: with the hidden rows of all tokens.
"""

from dataclasses import dataclass, field

from llm.gpu.operations import (
    MAX_EXPERTS,
    MAX_USED,
    PAIR_FLOATS,
    Activate,
    Activation,
    AddBias,
    AddPositions,
    Attend,
    CacheSlab,
    CacheStore,
    Choice,
    Combine,
    Convolve,
    Count,
    DeltaRule,
    Embed,
    ExpertMatMul,
    ExpertSum,
    GatedAdd,
    GatedNorm,
    GatedUnit,
    HeadMapping,
    L2Norm,
    LayerNorm,
    MatMul,
    MixStreams,
    Operation,
    Pairing,
    Rescale,
    RMSNorm,
    Rotate,
    Route,
    ScaleLogits,
    Scoring,
    SelectRows,
    SliceHeads,
    Sparsify,
    StateSlab,
    Temperature,
    Tensor,
    Weight,
    list_words,
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

    def layer_norm(
        self,
        weight: Weight,
        x: Tensor,
        y: Tensor,
        eps: float,
        *,
        bias: Weight | None = None,
        count: Count = Count.ROWS,
    ) -> None:
        _same("layer_norm width", weight.columns, x.width)
        _same("layer_norm output width", x.width, y.width)
        if bias is not None:
            _same("layer_norm bias width", bias.columns, x.width)
        self.operations.append(LayerNorm(weight, bias, x, y, eps, count))

    def add_positions(self, weight: Weight, x: Tensor) -> None:
        _same("add_positions width", weight.columns, x.width)
        self.operations.append(AddPositions(weight, x))

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

    def add_biases(self, *pairs: tuple[Weight | None, Tensor]) -> None:
        """To rows of all tokens, after the products that made them; None has no bias.

        Products of one input stand together, and their biases after them: so they run at once.
        """
        for bias, x in pairs:
            if bias is not None:
                _same(f"{bias.name} columns", bias.columns, x.width)
                self.operations.append(AddBias(bias, x, Count.ROWS))

    def scale_logits(self, x: Tensor, *, scale: float = 1.0, soft_cap: float = 0.0) -> None:
        self.operations.append(ScaleLogits(x, scale, soft_cap))

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
        magnitude: float = 1.0,
        temperature: Temperature | None = None,
    ) -> None:
        """`eps` is the norm's. A table of fewer than D/2 pairs leaves the rest of a head as is."""
        if x.width % heads or 2 * table.rows * heads > x.width:
            raise ValueError(f"rotate: {table.rows} pairs, {heads} heads, width {x.width}")
        if norm is not None:
            _same("rotate norm", norm.columns * heads, x.width)
        self.operations.append(
            Rotate(norm, table, x, heads, pairing, eps, scale, magnitude, temperature)
        )

    def cache_store(self, k: Tensor, v: Tensor, cache: CacheSlab) -> None:
        _same("cache key width", k.width, cache.width)
        _same("cache value width", v.width, cache.width)
        self.operations.append(CacheStore(k, v, cache))

    def attend(
        self,
        q: Tensor,
        cache: CacheSlab,
        y: Tensor,
        *,
        heads: int,
        kv_heads: int,
        window: int = 0,
        soft_cap: float = 0.0,
        ahead: int = 0,
        alibi: float = 0.0,
        sinks: Weight | None = None,
    ) -> None:
        _same("attend output width", q.width, y.width)
        _same("attend head size", q.width * kv_heads, cache.width * heads)
        if heads % kv_heads:
            raise ValueError(f"{heads} query heads do not share {kv_heads} key/value heads evenly")
        if sinks is not None:
            _same("attend sinks", sinks.columns, heads)
        self.operations.append(
            Attend(q, cache, y, heads, kv_heads, window, soft_cap, ahead, alibi, sinks)
        )

    def gated_unit(self, gate: Tensor, up: Tensor, y: Tensor, activation: Activation) -> None:
        _same("gated_unit width", gate.width, up.width)
        _same("gated_unit output width", gate.width, y.width)
        self.operations.append(GatedUnit(gate, up, y, activation))

    def activate(self, x: Tensor, activation: Activation) -> None:
        self.operations.append(Activate(x, activation))

    def convolve(
        self, weight: Weight, x: Tensor, y: Tensor, state: StateSlab, *, is_gated: bool = False
    ) -> None:
        _same("convolve channels", weight.rows, y.width)
        _same("convolve input width", y.width * (3 if is_gated else 1), x.width)
        _same("convolve state", (weight.columns - 1) * weight.rows, state.floats)
        self.operations.append(Convolve(weight, x, y, state, is_gated))

    def delta_rule(
        self,
        qkv: Tensor,
        alpha: Tensor,
        beta: Tensor,
        pairs: Tensor,
        y: Tensor,
        state: StateSlab,
        *,
        decay: Weight,
        bias: Weight,
        key_heads: int,
        heads: int,
        mapping: HeadMapping,
    ) -> None:
        for what, width in (
            ("alpha", alpha.width),
            ("beta", beta.width),
            ("decay", decay.columns),
            ("bias", bias.columns),
        ):
            _same(f"delta_rule {what}", width, heads)
        _same("delta_rule input width", qkv.width * heads, y.width * (2 * key_heads + heads))
        _same("delta_rule pairs", pairs.width, heads * PAIR_FLOATS)
        _same("delta_rule state", state.floats * heads, y.width * y.width)
        if heads % key_heads:
            raise ValueError(f"{heads} value heads do not share {key_heads} key heads evenly")
        self.operations.append(
            DeltaRule(qkv, alpha, beta, decay, bias, pairs, y, state, key_heads, heads, mapping)
        )

    def l2_norm(self, x: Tensor, *, heads: int, head_size: int, eps: float) -> None:
        if heads * head_size > x.width:
            raise ValueError(f"l2_norm: {heads} heads of {head_size}, width {x.width}")
        self.operations.append(L2Norm(x, heads, head_size, eps))

    def gated_norm(
        self, weight: Weight, x: Tensor, gate: Tensor, y: Tensor, *, heads: int, eps: float
    ) -> None:
        _same("gated_norm width", weight.columns * heads, x.width)
        _same("gated_norm gate width", gate.width, x.width)
        _same("gated_norm output width", y.width, x.width)
        self.operations.append(GatedNorm(weight, x, gate, y, heads, eps))

    def slice_heads(self, x: Tensor, y: Tensor, *, heads: int, first: int) -> None:
        if x.width % heads or y.width % heads or first * heads + y.width > x.width:
            raise ValueError(f"slice_heads: {y.width} from {first} of {x.width}, {heads} heads")
        self.operations.append(SliceHeads(x, y, heads, first))

    def choice(self, experts: int, used: int) -> Choice:
        """Room for what a router chooses for each token."""
        if not 1 <= used <= min(experts, MAX_USED) or experts > MAX_EXPERTS:
            raise ValueError(f"{used} of {experts} experts")
        rows = self.tensor(2 * used)
        words = list_words(rows.rows * used, experts)
        lists = Tensor(self.work_floats, 1, words)
        self.work_floats += -(-words // ALIGNMENT) * ALIGNMENT
        return Choice(rows, lists, experts)

    def route(
        self,
        logits: Tensor,
        choice: Choice,
        *,
        scoring: Scoring = Scoring.SOFTMAX,
        normalised: bool = True,
        bias: Weight | None = None,
        scale: float = 1.0,
        gains: Weight | None = None,
    ) -> None:
        _same("route logits", logits.width, choice.experts)
        if bias is not None:
            _same("route bias", bias.columns, choice.experts)
        if gains is not None:
            _same("route gains", gains.columns, choice.experts)
        self.operations.append(Route(logits, bias, choice, scoring, normalised, scale, gains))

    def expert_matmul(
        self, weight: Weight, x: Tensor, y: Tensor, choice: Choice, *, bias: Weight | None = None
    ) -> None:
        """All experts of a row have the same x, or each its own part of x."""
        inputs = 1 if x.width == weight.columns else choice.used
        _same(f"{weight.name} columns", weight.columns * inputs, x.width)
        _same(f"{weight.name} rows", weight.rows * choice.used, y.width * choice.experts)
        if bias is not None:
            _same(f"{bias.name} rows", bias.rows, choice.experts)
            _same(f"{bias.name} columns", bias.columns * choice.used, y.width)
        self.operations.append(ExpertMatMul(weight, bias, x, y, choice))

    def expert_sum(
        self, x: Tensor, choice: Choice, y: Tensor, *, residual: Tensor | None = None
    ) -> None:
        _same("expert_sum width", x.width, y.width * choice.used)
        if residual is not None:
            _same("expert_sum residual width", residual.width, y.width)
        self.operations.append(ExpertSum(x, choice, y, residual))

    def gated_add(self, x: Tensor, gate: Tensor, y: Tensor, *, residual: Tensor) -> None:
        _same("gated_add gate", gate.width, 1)
        _same("gated_add width", x.width, y.width)
        _same("gated_add residual width", residual.width, y.width)
        self.operations.append(GatedAdd(x, gate, y, residual))

    def combine(
        self,
        x: Tensor,
        y: Tensor,
        *,
        other: Tensor | None = None,
        weight: Weight | None = None,
        factor: float = 1.0,
        scale: float = 1.0,
        count: Count = Count.ROWS,
    ) -> None:
        _same("combine output width", x.width, y.width)
        if other is not None:
            _same("combine width", x.width, other.width)
        if weight is not None:
            _same("combine weight", x.width, weight.columns)
        self.operations.append(Combine(x, other, weight, y, factor, scale, count))

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
