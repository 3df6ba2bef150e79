"""Which steps need no barrier behind them, because values that go from one to the next have tags.

A tag is the lowest bit of a value, another one with each value that is written to a place, and
readers look until it is the new one: shaders/include/step_tags.glslh. That nobody writes to a place
that others still read follows from what a group has to wait for: a group that is in a product has
seen all that the step before it left, so no group still reads in that step, or, where that was an
attention or what joins its parts (few groups take part), in the ones before it. Where others than
the next step read what one leaves, all groups meet behind it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from llm.gpu.operations import Tensor
from llm.gpu.steps.attention import Attention, Join
from llm.gpu.steps.packing import Grid, Words
from llm.gpu.steps.steps import (
    ADDED,
    COPIES,
    GATED,
    LOGITS,
    STAYS,
    TAGS,
    X_OUT,
    NormParts,
    Product,
    Prologue,
    Step,
    X,
)

TAG_X, TAG_Y, TAG_OUT, TAG_X_OUT = 0, 4, 8, 12  # first bits of the fields of a step's tags
TURNS, IS_USED = 2, 4  # bits of a field; bit 0 is the tag itself


@dataclass(frozen=True, slots=True)
class Places:
    """Floats of the work buffer whose tags have to start at 0; parts of cells lie far away."""

    first: int = 0
    count: int = 0
    first_part: int = 0
    n_parts: int = 0


NO_PLACES = Places()


def tag_steps(
    steps: Sequence[Step], packed: Sequence[Words], copies: int, grid: Grid, groups: int
) -> Places:
    """Puts tags into the words of a token's steps, in place, where that is safe in all of them.

    `copies` is the float from where on each group may keep its own copy of the residual stream.
    NO_PLACES where it is not safe, and nothing is changed.
    """
    has_copies = any(_adds_norm(step) for step in steps)
    tags = _tags_of(steps, has_copies, grid, groups)
    places = _places(steps, has_copies, groups)
    if tags is None or any(isinstance(s, NormParts) and _is_cleared(s.y, places) for s in steps):
        return NO_PLACES
    for number, (step, words) in enumerate(zip(steps, packed, strict=True)):
        words[TAGS] = tags[number]
        words[STAYS] = number > 0 and not _is_last(step) and not step.meets
        if not has_copies or not isinstance(step, Product):
            continue
        if step.x_out is not None or step.prologue is Prologue.NORM:
            words[X] = copies
            words[COPIES] = step.width
        if step.x_out is not None:
            words[X_OUT] = copies
    return places


def _tags_of(steps: Sequence[Step], has_copies: bool, grid: Grid, groups: int) -> list[int] | None:
    """The tag words of all steps; None where a group could overtake another."""
    if not _is_chain(steps, has_copies, grid, groups):
        return None
    totals = Counter(
        tensor.offset
        for step in steps
        if _is_finished(step)
        for _, tensor in _writes(step, has_copies, groups)
    )
    written: Counter[int] = Counter()
    last_read: dict[int, int] = {}
    tags = []
    for number, step in enumerate(steps):
        fields: dict[int, int] = {}
        for field, tensor in _reads(step, has_copies):
            bits = _field(written[tensor.offset], totals[tensor.offset])
            if fields.setdefault(field, bits) != bits:
                return None
            last_read[tensor.offset] = number
        for field, tensor in _writes(step, has_copies, groups):
            if last_read.get(tensor.offset, -3) > number - _steps_behind(steps, number):
                return None
            written[tensor.offset] += _is_finished(step)
            fields[field] = _field(written[tensor.offset], totals[tensor.offset])
        tags.append(sum(bits << field for field, bits in fields.items()))
    return tags


def _steps_behind(steps: Sequence[Step], number: int) -> int:
    """How many steps before this one nobody reads any more when a group is in it."""
    if isinstance(steps[number], Join):
        return 3
    step = steps[number]
    if isinstance(step, Product) and step.start:
        return 1 + step.start // step.slice_width  # it has seen what came before the first slice
    around = steps[max(number - 1, 0) : number + 1]
    return 1 if number > 0 and all(isinstance(step, Product) for step in around) else 2


def _is_chain(steps: Sequence[Step], has_copies: bool, grid: Grid, groups: int) -> bool:
    """Whether each step waits for all of the one before it, and all groups have rows in each.

    Steps of experts are none of a chain: two of them read the router's logits or the choice.
    """
    if any(isinstance(step, Product) and step.experts is not None for step in steps):
        return False
    tensors = {tensor for step in steps for _, tensor in _writes(step, has_copies, groups)}
    if _overlap(tensors):
        return False
    for before, step in pairwise(steps):
        read = {tensor.offset for _, tensor in _reads(step, has_copies)}
        continues = isinstance(step, Product) and step.start > 0
        if not before.meets and not continues and not _hands_on(before, groups) <= read:
            return False
        if not isinstance(step, Product):
            continue
        if sum(step.passes(grid)) < groups or not _sees_all_groups(before, step, grid, groups):
            return False
        if has_copies and step.epilogue in ADDED and not continues:
            return False
    first = steps[0]
    return isinstance(first, Product) and first.prologue is Prologue.EMBED


def _sees_all_groups(before: Step, step: Product, grid: Grid, groups: int) -> bool:
    """Whether what it waits for is of all groups: a slice waits for some of the rows before it."""
    if not step.slice_width or step.start or not isinstance(before, Product):
        return True
    return step.width * sum(before.passes(grid)) >= groups * step.weights[0].columns


def _field(count: int, total: int) -> int:
    """Of a value that is the `count`-th of a token at its place, of `total`."""
    return IS_USED | (total & 1) * TURNS | count & 1


def _reads(step: Step, has_copies: bool) -> Iterator[tuple[int, Tensor]]:
    """What a step waits for: the fields of its tags, and where the values lie."""
    if isinstance(step, Join):
        yield TAG_X, step.of.partials
    elif isinstance(step, Attention):
        yield from ((TAG_X, it) for it in (step.q, step.k, step.v) if it is not None)
    elif isinstance(step, NormParts):
        yield TAG_X, step.x
    elif isinstance(step, Product):
        is_own = has_copies and step.prologue is Prologue.NORM  # a copy
        if step.x is not None and step.prologue is not Prologue.ADD_NORM and not is_own:
            yield TAG_X, step.x
        if step.y is not None:
            yield TAG_Y, step.y


def _writes(step: Step, has_copies: bool, groups: int) -> Iterator[tuple[int, Tensor]]:
    """What others wait for; parts of another number lie otherwise, and overlap."""
    if isinstance(step, Join):
        yield TAG_OUT, step.of.y
    elif isinstance(step, Attention):
        yield TAG_OUT, step.left(groups)
    elif isinstance(step, Product):
        if step.x_out is not None and not has_copies:
            yield TAG_X_OUT, step.x_out
        if not _is_last(step):
            of_gate = 1 if step.epilogue in GATED else None
            yield from ((TAG_OUT, tensor) for tensor in step.outputs[:of_gate])


def _hands_on(step: Step, groups: int) -> set[int]:
    """Where the next step has to read all of what this one writes; the stream may come later."""
    return {tensor.offset for field, tensor in _writes(step, True, groups) if field == TAG_OUT}


def _adds_norm(step: Step) -> bool:
    return isinstance(step, Product) and step.prologue is Prologue.ADD_NORM


def _is_finished(step: Step) -> bool:
    """Whether its values are what others wait for; to those of a slice the next one adds."""
    return not isinstance(step, Product) or step.is_last_slice


def _is_last(step: Step) -> bool:
    return isinstance(step, Product) and step.epilogue in LOGITS


def _overlap(tensors: set[Tensor]) -> bool:
    spans = sorted((tensor.offset, tensor.offset + tensor.width) for tensor in tensors)
    return any(start < end for (_, end), (start, _) in pairwise(spans))


def _is_cleared(tensor: Tensor, places: Places) -> bool:
    """Whether what the host may have put there is lost before the first step."""
    end = places.first + places.count
    return tensor.offset < end and places.first < tensor.offset + tensor.width


def _places(steps: Sequence[Step], has_copies: bool, groups: int) -> Places:
    parted = {id(step) for step in steps if isinstance(step, Attention) and step.has_parts}
    near, parts = (
        [
            tensor
            for step in steps
            if (id(step) in parted) == is_parted
            for _, tensor in _writes(step, has_copies, groups)
        ]
        for is_parted in (False, True)
    )
    return Places(*_span(near), *_span(parts))


def _span(tensors: Sequence[Tensor]) -> tuple[int, int]:
    """Where they begin, and how many floats it is to their end."""
    first = min((tensor.offset for tensor in tensors), default=0)
    return first, max((tensor.offset + tensor.width for tensor in tensors), default=0) - first
