"""A tape of a few rows -> the steps of the columns kernel.

Its layers become steps; what stands before them (the embedding) and after them (the head)
stays a list of operations.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from llm.gpu.columns.steps import ColumnAdd, ColumnGate, ColumnHeads, ColumnProduct, ColumnStep
from llm.gpu.columns.words import MAX_SEGMENTS
from llm.gpu.operations import (
    Activation,
    AddBias,
    Embed,
    GatedUnit,
    MatMul,
    Operation,
    RMSNorm,
    Rotate,
    SelectRows,
    Tensor,
)
from llm.gpu.steps.errors import NoStepError
from llm.gpu.steps.fusion import attention_at
from llm.gpu.steps.packing import ceil_div
from llm.gpu.tape import Tape


@dataclass(frozen=True, slots=True)
class ColumnLayers:
    """How a tape runs: operations, then steps, then operations."""

    before: Sequence[Operation]
    steps: Sequence[ColumnStep]
    after: Sequence[Operation]

    @property
    def products(self) -> list[ColumnProduct]:
        return [step for step in self.steps if isinstance(step, ColumnProduct)]

    @property
    def formats(self) -> set[str]:
        return {weight.format.name for step in self.products for weight in step.weights}

    @property
    def whole_steps(self) -> int:
        """Of 128 k, the most that a group needs at once: with a norm, or a gate, all of x."""
        whole = [step for step in self.products if step.norm or step.activation is not None]
        return max((step.k_steps for step in whole), default=1)

    @property
    def most_sets(self) -> int:
        return max(step.sets for step in self.products)

    def part_floats(self, group_steps: int, columns: int) -> int:
        """Of the sums that sets of groups leave, which keep so many steps of each column."""
        return max(
            ceil_div(step.k_steps, group_steps) * columns * max(w.rows for w in step.weights)
            for step in self.products
        )

    def share_k(self, group_steps: int, parts: int) -> "ColumnLayers":
        """The same where a group keeps so many steps of a column, and the sums of several sets of
        groups are left from float `parts` on. Raises NoStepError where that does not do."""
        steps: list[ColumnStep] = []
        cut: ColumnProduct | None = None  # among sets, whose sums the next step adds
        for step in self.steps:
            if cut is not None:
                outputs = [output.offset for output in cut.outputs]
                if not isinstance(step, ColumnAdd) or outputs != [step.parts]:
                    raise NoStepError("a product of long rows whose sums nothing adds")
                step, cut = replace(step, parts=parts, sets=cut.sets), None
            if not isinstance(step, ColumnProduct) or step.k_steps <= group_steps:
                steps.append(step)
                continue
            step = replace(step, sets=ceil_div(step.k_steps, group_steps), parts=parts)
            steps.append(step)
            if step.adds:
                steps.append(ColumnAdd(step.outputs[0], parts, step.sets))
            else:
                cut = step
        if cut is not None:
            raise NoStepError("a product of long rows whose sums nothing adds")
        return ColumnLayers(self.before, steps, self.after)


def fuse_columns(tape: Tape) -> ColumnLayers:
    """Raises NoStepError at an operation that fits no step."""
    return _Fusion(tape).layers()


@dataclass(slots=True)
class _Fusion:
    tape: Tape
    at: int = 0  # the next operation
    steps: list[ColumnStep] = field(default_factory=list)

    def layers(self) -> ColumnLayers:
        operations = self.tape.operations
        first = self._next()
        if not isinstance(first, Embed):
            raise NoStepError("a tape that does not begin with an embedding")
        stream = first.y
        self.at = 1
        while (op := self._next()) is not None and not isinstance(op, SelectRows):
            if isinstance(op, Rotate):
                self._take_heads()
            elif isinstance(op, RMSNorm) and not op.is_plain:
                raise NoStepError("a norm that scales, or has no weight, or norms parts of rows")
            elif isinstance(op, RMSNorm) and op.residual is None and op.x == stream:
                self.at += 1
                self._take_products(ColumnProduct(stream, [], [], op.weight, op.eps), op.y, stream)
            elif isinstance(op, RMSNorm) and op.residual == op.y == stream:
                self.at += 1
                self.steps.append(ColumnAdd(stream, op.x.offset, 1, op.weight, op.eps))
            elif isinstance(op, MatMul) and op.x != stream:
                self._take_products(ColumnProduct(op.x, [], []), op.x, stream)
            else:
                raise NoStepError(f"no step does {type(op).__name__} here")
        layers = ColumnLayers(operations[:1], self.steps, operations[self.at :])
        if not layers.products:
            raise NoStepError("a tape without products between the embedding and the head")
        return layers

    def _next(self) -> Operation | None:
        return self.tape.operations[self.at] if self.at < len(self.tape.operations) else None

    def _take_products(self, product: ColumnProduct, x: Tensor, stream: Tensor) -> None:
        while isinstance(op := self._next(), MatMul) and op.x == x:
            if op.residual is not None:
                if not op.residual == op.y == stream or product.norm is not None:
                    raise NoStepError("a product with a residual adds to the residual stream")
                product.adds = True
            product.weights.append(op.weight)
            product.outputs.append(op.y)
            self.at += 1
        self._take_biases(product)
        op = self._next()
        count = len(product.weights)
        if not 1 <= count <= MAX_SEGMENTS or (product.adds and count > 1):
            raise NoStepError(f"{count} products of one input")
        gate = self._take_gate(op, product) if isinstance(op, GatedUnit) else []
        self.steps += [*product.of_one_format(), *gate]

    def _take_biases(self, product: ColumnProduct) -> None:
        outputs = list(product.outputs)
        while isinstance(op := self._next(), AddBias):
            if product.norm is None:
                raise NoStepError("a bias of what is no product of a norm")
            if not outputs or op.x != outputs.pop(0):
                raise NoStepError("biases should follow their products, in the same order")
            product.biases.append(op.weight)
            self.at += 1
        if product.biases and outputs:
            raise NoStepError("all products of one input should have a bias, or none")

    def _take_gate(self, unit: GatedUnit, product: ColumnProduct) -> list[ColumnStep]:
        """The step that follows, where the two products are not of one format."""
        is_plain = not product.biases
        if unit.activation is Activation.CLAMPED:
            raise NoStepError("a gated unit that clamps")
        if [unit.gate, unit.up] != product.outputs or unit.y != unit.gate or not is_plain:
            raise NoStepError("a gated unit should follow its two products, in place")
        self.at += 1
        if product.weights[0].format != product.weights[1].format:
            return [ColumnGate(unit)]
        product.activation = unit.activation
        return []

    def _take_heads(self) -> None:
        q, k, store, attend = attention_at(self.tape, self.at)
        if attend.sinks is not None:
            raise NoStepError("attention with sinks")
        for attends in (False, True):
            self.steps.append(ColumnHeads(q, k, store, attend, attends))
        self.at += 4
