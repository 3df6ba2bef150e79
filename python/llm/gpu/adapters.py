"""LoRA adapters of a model's matrices, and the operations that apply them.

A product y = W x that one adapts is followed by y = y + B (gain * scale * (A x)): the gain is the
weight that a node gives it, and lies where the matrices lie, so that a tape serves any weight.
Ranks are filled up with zeros to whole parts of a row, as kernels read them.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from llm.errors import ModelFileError
from llm.files.adapter import A, AdapterFile, B, Matrix, Pair
from llm.files.formats import FORMATS, BlockFormat
from llm.files.wording import quoted
from llm.gpu.operations import Embed, MatMul, Operation, Tensor, Weight
from llm.gpu.program import Batch, Program
from llm.gpu.tape import Tape

F32, F16 = FORMATS[0], FORMATS[1]
RANK_UNIT = 32  # numbers of a row that kernels read at a time

Gains = tuple[tuple[int, float], ...]  # the number of each adapter, rising, and its weight, not 0
Recorded = tuple[int, int, tuple[int, ...]]  # rows, outputs and numbers of adapters of a tape
Arrays = Mapping[str, Matrix]  # by the names of weights


@dataclass(frozen=True, slots=True)
class LowRank:
    """What is added to one matrix."""

    a: Weight  # (R, K)
    b: Weight  # (M, R)
    gain: Weight  # (1, R), all of them alike; matrices of one rank have it in common
    scale: float


@dataclass(frozen=True, slots=True)
class Adapter:
    """One that is loaded."""

    number: int  # of the model's adapters; no two ever have the same
    digest: str
    pairs: Mapping[str, LowRank]  # by the name of the weight that is multiplied

    @property
    def weights(self) -> list[Weight]:
        of_pairs = {
            weight.name: weight for pair in self.pairs.values() for weight in (pair.a, pair.b)
        }
        return [*self.gains, *of_pairs.values()]

    @property
    def gains(self) -> list[Weight]:
        return list({pair.gain.name: pair.gain for pair in self.pairs.values()}.values())


class Adapters:
    """Those that a model has now, which of them its sequences have, and its tapes with them."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._made = 0
        self.loaded: dict[int, Adapter] = {}  # by number
        self._gains: dict[int, Gains] = {}  # of sequences that have any
        self._tapes: dict[Recorded, Tape] = {}

    def add(self, path: str, architecture: str) -> tuple[Adapter, Arrays]:
        """The adapter of a file, and the numbers of its weights but the gains.

        Raises ModelFileError where it was not made for this model of that architecture.
        """
        file = AdapterFile.open(path)
        if file.architecture != architecture:
            problem = f"is '{file.architecture}', and the model's is '{architecture}'; "
            problem += "use the model that the adapter was made for"
            raise ModelFileError(path, "general.architecture", problem)
        self._made += 1
        adapter, arrays = _make(file, self._program, self._made)
        self.loaded[adapter.number] = adapter
        return adapter, arrays

    def remove(self, number: int) -> Adapter:
        self._tapes = {key: tape for key, tape in self._tapes.items() if number not in key[2]}
        return self.loaded.pop(number)

    def adapt(self, sequence: int, gains: Gains) -> None:
        """Says which a sequence has from now on."""
        self._gains.pop(sequence, None)
        if gains:
            self._gains[sequence] = gains

    def gains_of(self, batch: Batch) -> Gains:
        """Of a run, all of whose rows have the same."""
        if not self._gains:
            return ()
        found = {self._gains.get(sequence, ()) for sequence in batch.sequences or (0,)}
        if len(found) > 1:
            raise ValueError(f"a run of rows with {len(found)} different sets of adapters")
        return found.pop()

    def numbers_of(self, batch: Batch) -> tuple[int, ...]:
        return tuple(number for number, _ in self.gains_of(batch))

    def tape(self, rows: int, outputs: int, numbers: tuple[int, ...] = ()) -> Tape:
        """The program's, with these adapters applied; each is recorded once."""
        found = self._tapes.get((rows, outputs, numbers))
        if found is None:
            found = self._tapes[rows, outputs, numbers] = self._program.record(rows, outputs)
            apply_adapters(found, [self.loaded[number] for number in numbers])
        return found


def apply_adapters(tape: Tape, adapters: Sequence[Adapter]) -> None:
    """Adds what they add to each product.

    Products of one input come first, as without adapters, then all of A, of the gains and of B: so
    that those of each kind run at once.
    """
    if not adapters:
        return
    operations, tape.operations = tape.operations, []
    inner_at = most = tape.work_floats
    products: list[MatMul] = []  # that nothing has been added to yet
    for op in [*operations, None]:
        if products and not _goes_with(op, products):
            tape.work_floats = inner_at  # those of before are of no use any more
            _add(tape, products, adapters)
            most = max(most, tape.work_floats)
            products = []
        if op is not None:
            tape.operations.append(op)
        if isinstance(op, MatMul):
            products.append(op)
    tape.work_floats = most


def _goes_with(op: Operation | None, products: Sequence[MatMul]) -> bool:
    """Whether it multiplies the same rows, and reads nothing that these have made."""
    if not isinstance(op, MatMul) or op.x != products[0].x or op.count != products[0].count:
        return False
    made = [product.y.region for product in products]
    return not any(read.overlaps(region) for read in op.reads for region in made)


def _add(tape: Tape, products: Sequence[MatMul], adapters: Sequence[Adapter]) -> None:
    found = [
        (product.y, adapter.pairs[product.weight.name])
        for product in products
        for adapter in adapters
        if product.weight.name in adapter.pairs
    ]
    x, count = products[0].x, products[0].count
    inner: dict[str, Tensor] = {}  # (T or O, R), by A, which pieces of one matrix have in common
    firsts = {pair.a.name: pair for _, pair in found}
    for name, pair in firsts.items():
        inner[name] = tape.tensor(pair.a.rows, of=count)
        tape.matmul(pair.a, x, inner[name], count=count)
    for name, pair in firsts.items():
        tape.combine(inner[name], inner[name], weight=pair.gain, scale=pair.scale, count=count)
    for y, pair in found:
        tape.matmul(pair.b, inner[pair.a.name], y, residual=y, count=count)


def _make(file: AdapterFile, program: Program, number: int) -> tuple[Adapter, Arrays]:
    multiplied = _multiplied(program)
    tensors = {weight.tensor for weight in (*program.weights, *program.tables)}
    pairs: dict[str, LowRank] = {}
    arrays: dict[str, Matrix] = {}
    for name, pair in file.pairs.items():
        pieces = multiplied.get(name, [])
        _check(file, name, pair, pieces, tensors)
        a, b = (file.matrix(info) for info in (pair.a, pair.b))  # (r, K), (M, r)
        rank = -(-pair.rank // RANK_UNIT) * RANK_UNIT  # R
        more = rank - pair.rank
        a_name, gain_name = (f"adapter {number} {of}" for of in (pair.a.name, f"gain of {rank}"))
        arrays[a_name] = np.pad(a, ((0, more), (0, 0)))  # (R, K)
        for piece in pieces:
            b_name = f"adapter {number} {piece.name}{B}"
            rows = b[piece.first_row : piece.first_row + piece.rows]
            arrays[b_name] = np.pad(rows, ((0, 0), (0, more)))  # (M, R)
            pairs[piece.name] = LowRank(
                a=Weight(a_name, _format(a), rank, a.shape[1]),
                b=Weight(b_name, _format(b), piece.rows, rank),
                gain=Weight(gain_name, F32, 1, rank),
                scale=file.scale(pair),
            )
    return Adapter(number, file.digest(), pairs), arrays


def _format(array: Matrix) -> BlockFormat:
    return F16 if array.dtype == np.float16 else F32


def _multiplied(program: Program) -> dict[str, list[Weight]]:
    """Weights that rows are multiplied with, and nothing else is done with, by their tensors."""
    operations = program.record(1, 0 if program.is_encoder else 1).operations
    embedded = {op.weight.tensor for op in operations if isinstance(op, Embed)}
    found: dict[str, dict[str, Weight]] = {}
    for op in operations:
        if isinstance(op, MatMul) and op.weight.tensor not in embedded:
            found.setdefault(op.weight.tensor, {})[op.weight.name] = op.weight
    return {tensor: list(weights.values()) for tensor, weights in found.items()}


def _check(
    file: AdapterFile, name: str, pair: Pair, pieces: Sequence[Weight], tensors: Collection[str]
) -> None:
    field = f"tensor {quoted(name + A)}"
    if name not in tensors:
        problem = "adapts what the model has not; use the model that the adapter was made for"
        raise ModelFileError(file.path, field, problem)
    if not pieces:
        problem = "adapts what is no product of all rows, which this build cannot; train it without"
        raise ModelFileError(file.path, field, problem)
    rows = max(piece.first_row + piece.rows for piece in pieces)
    adapted = f"{pair.b.shape[0]}x{pair.a.shape[1]}"
    if adapted != f"{rows}x{pieces[0].columns}":
        problem = f"adapts a matrix of {adapted}, and the model's is {rows}x{pieces[0].columns}; "
        problem += "use the model that the adapter was made for"
        raise ModelFileError(file.path, field, problem)
