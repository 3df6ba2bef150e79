"""A tape for one token -> the steps of the steps kernel.

Knows which runs of operations one step does: a norm (with what is added before it) goes into the
products that read it, products of one input go together, a gate into its products, rotation and
storing into the attention, the choice of experts into their products. Layers that read another's
cells leave out what that one has done.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from llm.gpu.operations import (
    Activation,
    AddBias,
    Attend,
    CacheStore,
    Embed,
    GatedUnit,
    MatMul,
    Operation,
    RMSNorm,
    Rotate,
    Route,
    ScaleLogits,
    SelectRows,
    Tensor,
)
from llm.gpu.steps.attention import Attention
from llm.gpu.steps.errors import NoStepError
from llm.gpu.steps.expert_fusion import fuse_experts
from llm.gpu.steps.slices import sliced
from llm.gpu.steps.steps import (
    ADDED,
    MAX_SEGMENTS,
    PART_WEIGHTS,
    Epilogue,
    NormParts,
    Product,
    Prologue,
    Step,
)
from llm.gpu.tape import Tape


@dataclass(frozen=True, slots=True)
class StepScratch:
    """Where the steps leave what only they need, in floats of the work buffer."""

    stream: Tensor  # as wide as the model: the residual stream goes here and back by turns
    partials: Tensor  # of attention to all cells
    window_partials: Tensor  # of attention to a window, which has fewer parts
    n_parts: int  # most of them for a head


def attention_at(tape: Tape, at: int) -> tuple[Rotate, Rotate, CacheStore, Attend]:
    """The four operations from number `at` on. Raises NoStepError where they are no attention."""
    four = tape.operations[at : at + 4]
    if [type(op) for op in four] != [Rotate, Rotate, CacheStore, Attend]:
        raise NoStepError("attention should be two rotations, a store and the sums")
    q, k, store, attend = four
    assert isinstance(q, Rotate)
    assert isinstance(k, Rotate)
    assert isinstance(store, CacheStore)
    assert isinstance(attend, Attend)
    if (store.k, attend.q, attend.cache) != (k.x, q.x, store.cache):
        raise NoStepError("attention should be of the queries, keys and cells before it")
    if (q.table, q.pairing, q.eps, q.magnitude, 1.0) != (
        k.table,
        k.pairing,
        k.eps,
        k.magnitude,
        k.scale,
    ):
        raise NoStepError("queries and keys should be rotated alike, and keys not scaled")
    _check_scores(attend)
    return q, k, store, attend


def _check_scores(attend: Attend) -> None:
    if attend.ahead or attend.alibi:
        raise NoStepError("rows that see cells after their own, or scores with a bias")


def fuse(tape: Tape, scratch: StepScratch, in_ram: Collection[str] = ()) -> list[Step]:
    """`in_ram` are names of tables. Raises NoStepError at an operation that fits no step."""
    steps = _Fusion(tape, scratch, in_ram).steps()
    attentions = [step for step in steps if isinstance(step, Attention)]
    read_again = {step.cache for step in attentions if step.k is None}
    for step in attentions:
        step.meets = step.k is not None and step.cache in read_again
    return steps


@dataclass(slots=True)
class _Fusion:
    tape: Tape
    scratch: StepScratch
    in_ram: Collection[str]
    at: int = 0  # the next operation
    made: list[Step] = field(default_factory=list)
    home: Tensor | None = None  # where the tape has the residual stream
    x: Tensor | None = None  # where it is now
    gate: GatedUnit | None = None  # that the next product's input needs
    _normed: Tensor | None = None  # where the tape has what the latest norm leaves
    table: Embed | None = None  # whose row the next norm of parts adds

    def steps(self) -> list[Step]:
        while (op := self._next()) is not None:
            if isinstance(op, Rotate) or (isinstance(op, RMSNorm) and op.weight is None):
                self.made.append(self._attention())
                continue
            if isinstance(op, Route):
                self.made += self._experts()
                continue
            if isinstance(op, RMSNorm) and op.parts > 1:
                self.made.append(self._norm_parts(op))
                continue
            product, x = self._product(op)
            self._take_products(product, x)
            if product.outputs[-1] == self.tape.logits:
                self._take_logits(product)
            self.made += sliced(product)
        if self.gate is not None or self.table is not None:
            raise NoStepError(
                "a gated unit that no product reads, or an embedding that nothing does"
            )
        return self.made

    def _next(self) -> Operation | None:
        return self.tape.operations[self.at] if self.at < len(self.tape.operations) else None

    def _product(self, op: Operation) -> tuple[Product, Tensor]:
        """A step without its matrices yet: how it makes its input, and where the tape has that."""
        if isinstance(op, Embed) and self.home is None and op.weight.name not in self.in_ram:
            product = Product(Prologue.EMBED, op.y.width, [], [], x_out=op.y)
            product.embedding, product.scale = op.weight, op.scale
            self.home = self.x = op.y
            self.at += 1
            if isinstance(table := self._next(), Embed):
                self.table = table
                self.at += 1
            return product, self._take_norm(product)
        if isinstance(op, RMSNorm) and op.residual is not None:
            if not op.residual == op.y == self.home:
                raise NoStepError("a norm adds to the residual stream")
            self.at += 1
            return self._sum(op)
        if isinstance(op, RMSNorm | SelectRows):
            product = Product(Prologue.NORM, op.x.width, [], [], x=self.x)
            return product, self._take_norm(product)
        if isinstance(op, MatMul) and self.gate is not None and op.x == self.gate.y:
            gate, self.gate = self.gate, None
            product = Product(Prologue.GATED, op.x.width, [], [], x=gate.gate, y=gate.up)
            product.activation = gate.activation
            return product, op.x
        if isinstance(op, MatMul) and op.x in self._left():
            return Product(Prologue.PLAIN, op.x.width, [], [], x=op.x), op.x
        raise NoStepError(f"no step does {type(op).__name__} here")

    def _left(self) -> Sequence[Tensor]:
        """What the last step leaves, but for the residual stream."""
        last = self.made[-1] if self.made else None
        if isinstance(last, Attention):
            return (last.y,)
        return last.outputs if isinstance(last, Product) and last.epilogue not in ADDED else ()

    def _sum(self, op: RMSNorm) -> tuple[Product, Tensor]:
        assert self.x is not None
        assert self.home is not None
        kept = self.home if self.x == self.scratch.stream else self.scratch.stream
        product = Product(Prologue.ADD_NORM, op.x.width, [], [], x=self.x, y=op.x, x_out=kept)
        product.post_norm, product.eps, product.scale = op.weight, op.eps, op.scale
        self.x = kept
        normed = self._take_norm(product)
        if op.eps != product.eps:
            raise NoStepError("the norms of a step should have one eps")
        return product, normed

    def _take_norm(self, product: Product) -> Tensor:
        """Where the tape has what the norm leaves, or what it has without one."""
        x = self.home
        product_of_x = self._next()
        if isinstance(product_of_x, MatMul) and product_of_x.x == x:
            assert x is not None
            return x
        select = self._next()
        if isinstance(select, SelectRows) and select.x == x:
            x = select.y  # the only row
            self.at += 1
        norm = self._next()
        is_plain = isinstance(norm, RMSNorm) and norm.is_plain and norm.residual is None
        if not isinstance(norm, RMSNorm) or not is_plain or norm.x != x:
            raise NoStepError(
                f"a norm of the residual stream should follow, not {type(norm).__name__}"
            )
        product.norm, product.eps = norm.weight, norm.eps
        self.at += 1
        self._normed = norm.y
        return norm.y

    def _take_products(self, product: Product, x: Tensor) -> None:
        while isinstance(op := self._next(), MatMul) and op.x == x:
            product.weights.append(op.weight)
            product.outputs.append(op.y if op.residual is None else self._stream(op, product))
            self.at += 1
        self._take_biases(product)
        op = self._next()
        if product.epilogue in ADDED and len(product.weights) > 1:
            raise NoStepError("a product that adds to the residual stream is a step of its own")
        if len(product.weights) > MAX_SEGMENTS:
            raise NoStepError(f"{len(product.weights)} products of one input; {MAX_SEGMENTS} fit")
        if not product.weights:
            raise NoStepError(f"a product of the norm should follow, not {type(op).__name__}")
        if isinstance(op, GatedUnit):
            self._take_gate(op, product)

    def _take_biases(self, product: Product) -> None:
        adds = product.epilogue is Epilogue.ADD
        outputs = [self.home] if adds else list(product.outputs)
        while isinstance(op := self._next(), AddBias):
            if product.post_norm is not None:
                raise NoStepError("a bias beside a norm that is added")
            if not outputs or op.x != outputs.pop(0):
                raise NoStepError("biases should follow their products, in the same order")
            product.biases.append(op.weight)
            self.at += 1
        if product.biases and outputs:
            raise NoStepError("all products of one input should have a bias, or none")
        if product.biases:
            product.epilogue = Epilogue.ADD_BIASED if adds else Epilogue.BIASED

    def _take_logits(self, product: Product) -> None:
        product.epilogue = Epilogue.BEST
        op = self._next()
        if isinstance(op, ScaleLogits):
            product.logit_scale, product.logit_cap = op.scale, op.soft_cap
            product.epilogue = Epilogue.CAPPED if op.soft_cap else Epilogue.BEST
            self.at += 1

    def _stream(self, op: MatMul, product: Product) -> Tensor:
        """Where a product adds to the residual stream."""
        if not op.residual == op.y == self.home or self.x is None:
            raise NoStepError("a product with a residual adds to the residual stream")
        if product.norm is not None:
            raise NoStepError("a product adds to the residual stream that other groups still read")
        product.epilogue = Epilogue.ADD
        return self.x

    def _norm_parts(self, op: RMSNorm) -> NormParts:
        if self.table is None or op.weight is None or not self.table.y == op.residual == op.y:
            raise NoStepError("a norm of parts adds to an embedding, in place")
        table, self.table = self.table, None
        if op.weight.columns % table.weight.format.values or op.weight.columns % PART_WEIGHTS:
            raise NoStepError(f"parts of {op.weight.columns} values in {table.weight.format}")
        self.at += 1
        return NormParts(
            x=op.x,
            y=op.y,
            norm=op.weight,
            eps=op.eps,
            n_parts=op.parts,
            table=table.weight,
            scale=table.scale,
            factor=op.scale,
            is_in_ram=table.weight.name in self.in_ram,
        )

    def _take_gate(self, gate: GatedUnit, product: Product) -> None:
        if gate.activation is Activation.CLAMPED:
            raise NoStepError("a gated unit that clamps")
        is_alone = [gate.gate] == product.outputs == [gate.y] and not product.biases
        if is_alone and self._is_kept(gate.up):
            self.at += 1
            product.epilogue, product.activation = Epilogue.GATED_WITH, gate.activation
            product.gated = gate.up
            return
        if [gate.gate, gate.up] != product.outputs:
            raise NoStepError("a gated unit should follow its two products")
        self.at += 1
        if product.weights[0].format != product.weights[1].format:
            self.gate = gate
            return
        product.epilogue = Epilogue.GATED_BIASED if product.biases else Epilogue.GATED
        product.activation = gate.activation
        product.outputs[0] = gate.y

    def _experts(self) -> tuple[Product, Product]:
        """After the product whose outputs are the router's logits."""
        router = self.made[-1]
        if not isinstance(router, Product) or router.prologue is not Prologue.NORM:
            raise NoStepError("a router should read a norm of the residual stream")
        assert self._normed is not None
        assert self.home is not None
        assert self.x is not None
        six = self.tape.operations[self.at : self.at + 6]
        self.at += 6
        return fuse_experts(router, six, normed=self._normed, home=self.home, stream=self.x)

    def _is_kept(self, tensor: Tensor) -> bool:
        """Whether all groups have seen it: a norm of parts has left it."""
        return any(
            isinstance(step, NormParts) and step.y.region.covers(tensor.region)
            for step in self.made
        )

    def _attention(self) -> Attention:
        values = self._next()
        if isinstance(values, RMSNorm):
            self.at += 1
        else:
            values = None
        q, attend = self.tape.operations[self.at : self.at + 2]
        k: Rotate | None = None
        v: Tensor | None = None
        if isinstance(q, Rotate) and isinstance(attend, Attend) and values is None:
            if attend.q != q.x:
                raise NoStepError("attention should be of the queries before it")
            _check_scores(attend)
            self.at += 2
        else:
            q, k, store, attend = attention_at(self.tape, self.at)
            v = store.v if values is None else _raw_values(values, store, q, attend.kv_heads)
            self.at += 4
        if q.turned % 4:
            raise NoStepError(f"{q.turned} rotated values of a head; steps take fours")
        return Attention(
            q=q.x,
            k=None if k is None else k.x,
            v=v,
            y=attend.y,
            q_norm=q.norm,
            k_norm=None if k is None else k.norm,
            table=q.table,
            pairing=q.pairing,
            eps=q.eps,
            scale=q.scale,
            cache=attend.cache,
            kv_heads=attend.kv_heads,
            window=attend.window,
            magnitude=q.magnitude,
            soft_cap=attend.soft_cap,
            temperature=q.temperature,
            sinks=attend.sinks,
            partials=self.scratch.window_partials if attend.window else self.scratch.partials,
            n_parts=self.scratch.n_parts,
            norms_values=values is not None,
        )


def _raw_values(norm: RMSNorm, store: CacheStore, q: Rotate, kv_heads: int) -> Tensor:
    """Where the values lie before a norm that has no weight."""
    is_bare = norm.weight is None and norm.residual is None and norm.scale == 1.0
    if not is_bare or (norm.y, norm.parts, norm.eps) != (store.v, kv_heads, q.eps):
        raise NoStepError("values should be normed by heads, without a weight, as queries are")
    return norm.x
