"""A tape for one token -> the steps of the persistent kernel.

Knows which runs of operations one step does: a norm (with what is added before it) goes into the
products that read it, products of one input go together, a gate into its products, rotation and
storing into the attention, the joining of its parts into the product after it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from llm.gpu.operations import (
    Activation,
    Attend,
    CacheStore,
    Embed,
    GatedUnit,
    MatMul,
    Operation,
    Pairing,
    RMSNorm,
    Rotate,
    SelectRows,
    Tensor,
)
from llm.gpu.steps import MAX_SEGMENTS, Attention, Epilogue, Product, Prologue, Step
from llm.gpu.tape import Tape


class NoStepError(Exception):
    """The architecture does something that the persistent kernel has no step for."""


@dataclass(slots=True)
class Fusion:
    """Where the steps leave what only they need, in floats of the work buffer."""

    spare: Tensor  # as wide as the model: x + y goes here and back by turns
    partials: int  # of attention
    n_parts: int

    def fuse(self, tape: Tape) -> list[Step]:
        """Raises NoStepError at an operation that fits no step."""
        steps: list[Step] = []
        operations = tape.operations
        at = 0
        x: Tensor | None = None  # where the residual stream is now
        attention: Attention | None = None
        joined: Tensor | None = None  # what attention would have written
        product: Product
        while at < len(operations):
            op = operations[at]
            if isinstance(op, Embed):
                product = Product(Prologue.EMBED, op.y.width, [], [], x_out=op.y)
                product.embedding, product.scale = op.weight, op.scale
                x = op.y
                at = self._take_norm(operations, at + 1, product)
            elif isinstance(op, RMSNorm) and op.residual is not None:
                if x is None:
                    raise NoStepError("a residual without an embedding")
                kept = self.spare if x.offset != self.spare.offset else op.y
                product = Product(Prologue.ADD_NORM, op.x.width, [], [], x=x, y=op.x, x_out=kept)
                product.post_norm = op.weight
                x = kept
                at = self._take_norm(operations, at + 1, product)
            elif isinstance(op, RMSNorm):
                product = Product(Prologue.NORM, op.x.width, [], [], x=x)
                at = self._take_norm(operations, at, product)
            elif isinstance(op, Rotate):
                at, attention, joined = self._attention(operations, at)
                steps.append(attention)
                continue
            elif isinstance(op, MatMul) and attention is not None and op.x == joined:
                product = Product(Prologue.JOIN, op.x.width, [], [], window=attention.window)
                product.partials, product.n_parts = self.partials, self.n_parts
            elif isinstance(op, MatMul):
                product = Product(Prologue.PLAIN, op.x.width, [], [], x=op.x)
            else:
                raise NoStepError(f"no step does {type(op).__name__} here")
            at = self._take_products(operations, at, product)
            if product.outputs[-1] == tape.logits:
                product.epilogue = Epilogue.BEST
            steps.append(product)
        return steps

    def _take_norm(self, operations: Sequence[Operation], at: int, product: Product) -> int:
        if isinstance(operations[at], SelectRows):
            at += 1  # the only row
        norm = operations[at]
        if not isinstance(norm, RMSNorm) or norm.residual is not None:
            raise NoStepError(f"a norm should follow, not {type(norm).__name__}")
        product.norm, product.eps = norm.weight, norm.eps
        return at + 1

    def _take_products(self, operations: Sequence[Operation], at: int, product: Product) -> int:
        first = operations[at]
        while at < len(operations):
            op = operations[at]
            if not (isinstance(op, MatMul) and isinstance(first, MatMul) and op.x == first.x):
                break
            if op.residual is not None:
                raise NoStepError("no step adds a residual to a product")
            product.weights.append(op.weight)
            product.outputs.append(op.y)
            at += 1
        if len(product.weights) > MAX_SEGMENTS:
            raise NoStepError(f"{len(product.weights)} products of one input; {MAX_SEGMENTS} fit")
        if not product.weights:
            raise NoStepError(f"a product should follow, not {type(first).__name__}")
        gate = operations[at] if at < len(operations) else None
        if isinstance(gate, GatedUnit) and [gate.gate, gate.up] == product.outputs:
            if gate.activation is not Activation.GELU:
                raise NoStepError(f"no step does {gate.activation.name}")
            product.epilogue = Epilogue.GEGLU
            product.outputs[0] = gate.y
            at += 1
        return at

    def _attention(self, operations: Sequence[Operation], at: int) -> tuple[int, Attention, Tensor]:
        rotate_q, rotate_k, store, attend = operations[at : at + 4]
        if not (
            isinstance(rotate_q, Rotate)
            and isinstance(rotate_k, Rotate)
            and isinstance(store, CacheStore)
            and isinstance(attend, Attend)
        ):
            raise NoStepError("attention should be two rotations, a store and the sums")
        for rotate in (rotate_q, rotate_k):
            if (
                rotate.pairing is not Pairing.HALVES
                or rotate.turned * rotate.heads < rotate.x.width
            ):
                raise NoStepError("attention rotates whole heads, as pairs (i, i + D/2)")
        attention = Attention(
            q=rotate_q.x,
            k=rotate_k.x,
            v=store.v,
            q_norm=rotate_q.norm,
            k_norm=rotate_k.norm,
            table=rotate_q.table,
            eps=rotate_q.eps,
            scale=rotate_q.scale,
            cache=store.cache,
            kv_heads=attend.kv_heads,
            window=attend.window,
            n_parts=self.n_parts,
            partials=self.partials,
        )
        return at + 4, attention, attend.y
