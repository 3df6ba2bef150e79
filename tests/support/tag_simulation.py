"""Groups that run tagged steps in any order, value by value."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from llm.gpu.operations import Tensor
from llm.gpu.steps import steps as layout
from llm.gpu.steps import tags
from llm.gpu.steps.attention import Attention, Join
from llm.gpu.steps.packing import Words
from llm.gpu.steps.steps import LOGITS, Epilogue, NormParts, Product, Prologue, Step

GROUPS = 3
LAYER_INPUTS = (0, 0)  # where: they lie first in a tape
NO_TAG = 16  # in place of a field: what is behind a barrier has none

Where = tuple[int, int]  # offset and floats: other numbers of parts lie otherwise at one offset


@dataclass
class Place:
    """A value of which each group has a part: who wrote it last, and the tag it has."""

    writer: list[int]
    tag: list[int]


class OvertakenError(Exception):
    """A group read what is not, or no longer, the value it should have."""


def field_of(words: Words, field: int, token: int) -> tuple[bool, int]:
    """Whether a tag is used, and the tag: tag_of() of step_tags.glslh."""
    bits = int(words[layout.TAGS]) >> field
    return bool(bits & tags.IS_USED), (bits ^ (bits >> 1 & token)) & 1


@dataclass(frozen=True)
class Access:
    """A value of which each group reads or writes a part; `field` are the tags it goes by."""

    at: Where
    field: int
    is_awaited: bool = True
    is_whole: bool = False  # any group reads all of it


def at_start(tensor: Tensor) -> Where:
    return tensor.offset, 0


def parts_at(attention: Attention) -> Where:
    left = attention.left(GROUPS)
    return left.offset, left.width


def cells_at(attention: Attention) -> Where:
    """The token's cell, far from all activations."""
    return -1 - attention.cache.keys, 0


def reads_of(step: Step, *, is_copied: bool) -> list[Access]:
    """As the kernel does it; what a group only reads of itself counts where it adds to it."""
    if isinstance(step, Attention):
        tensors = [tensor for tensor in (step.q, step.k, step.v) if tensor is not None]
        found = [Access(at_start(tensor), tags.TAG_X) for tensor in tensors]
        return found if step.k else [*found, Access(cells_at(step), NO_TAG, is_whole=True)]
    if isinstance(step, NormParts):
        return [Access(at_start(step.x), tags.TAG_X)]
    if isinstance(step, Join):
        return [Access(parts_at(step.of), tags.TAG_X)]
    assert isinstance(step, Product)
    found = []
    if step.gated is not None:
        found.append(Access(LAYER_INPUTS, NO_TAG, is_whole=True))
    has_x = step.prologue in (Prologue.PLAIN, Prologue.GATED)
    if has_x or (step.prologue is Prologue.NORM and not is_copied):
        assert step.x is not None
        found.append(Access(at_start(step.x), tags.TAG_X))
    if step.prologue in (Prologue.ADD_NORM, Prologue.GATED):
        assert step.y is not None
        found.append(Access(at_start(step.y), tags.TAG_Y))
    if step.epilogue is Epilogue.ADD:
        found.append(Access(at_start(step.outputs[0]), tags.TAG_X, is_awaited=False))
    return found


def writes_of(step: Step, *, is_copied: bool) -> list[Access]:
    """Logits have no tags; a barrier is behind them."""
    if isinstance(step, Attention):
        at = parts_at(step) if step.has_parts else at_start(step.y)
        cells = [] if step.k is None else [Access(cells_at(step), NO_TAG)]
        return [Access(at, tags.TAG_OUT), *cells]
    if isinstance(step, NormParts):
        return [Access(at_start(step.y), NO_TAG)]
    if isinstance(step, Join):
        return [Access(at_start(step.of.y), tags.TAG_OUT)]
    assert isinstance(step, Product)
    found = []
    if step.prologue is Prologue.EMBED and not is_copied:
        assert step.x_out is not None
        found.append(Access(at_start(step.x_out), tags.TAG_X_OUT))
    if step.epilogue is Epilogue.GATED:
        found.append(Access(at_start(step.outputs[0]), tags.TAG_OUT))
    elif step.epilogue not in LOGITS:
        found += [Access(at_start(output), tags.TAG_OUT) for output in step.outputs]
    return found


def heads_of(own: int, step: Step) -> Sequence[int] | None:
    """Two groups take part in an attention, two in joining its parts: those whose head is theirs.
    None: all do, for all."""
    if isinstance(step, Product | NormParts):
        return None
    first = 1 if isinstance(step, Join) else 0
    return [part for part in range(GROUPS) if part % 2 + first == own]


def a_group(
    own: int, steps: list[Step], words: list[Words], places: dict[Where, Place], n_tokens: int
) -> Iterator[str]:
    """Every value that a group waits for, reads or writes, in turn. Yields what it is at."""
    copied = is_copied(steps)
    own_bits = random.Random(own)
    counts = dict.fromkeys(places, 0)  # writes to a place so far, in the order of the program
    for token in range(n_tokens):
        for step, step_words in zip(steps, words, strict=True):
            of_attention = heads_of(own, step)
            for read in reads_of(step, is_copied=copied):
                parts = [own] if not read.is_awaited else range(GROUPS)
                place = places[read.at]
                for part in parts if of_attention is None or read.is_whole else of_attention:
                    is_used, tag = field_of(step_words, read.field, token)
                    while read.is_awaited and is_used and place.tag[part] != tag:
                        yield "waits"
                    if place.writer[part] != counts[read.at]:
                        raise OvertakenError
                    yield "reads"
            written = writes_of(step, is_copied=copied)
            for write in written:
                parts = [own] if of_attention is None else of_attention
                if write.field == tags.TAG_X_OUT:
                    parts = range(GROUPS) if own == 0 else ()
                is_used, tag = field_of(step_words, write.field, token)
                for part in parts:
                    places[write.at].writer[part] = counts[write.at] + 1
                    # without a tag the lowest bit is the value's own
                    places[write.at].tag[part] = tag if is_used else own_bits.randrange(2)
                    yield "writes"
            for write in written:
                counts[write.at] += 1
            if not step_words[layout.STAYS]:
                yield "meets"


def is_copied(steps: list[Step]) -> bool:
    return any(isinstance(s, Product) and s.prologue is Prologue.ADD_NORM for s in steps)


def run(steps: list[Step], words: list[Words], seed: int, n_tokens: int = 3) -> None:
    """All groups in a random order, some much slower than others. Raises OvertakenError."""
    order = random.Random(seed)
    copied = is_copied(steps)
    written = {write.at for step in steps for write in writes_of(step, is_copied=copied)}
    places = {at: Place([0] * GROUPS, [0] * GROUPS) for at in written}
    groups = {own: a_group(own, steps, words, places, n_tokens) for own in range(GROUPS)}
    met: set[int] = set()
    favourite, idle = 0, 0
    while groups:
        if order.random() < 0.01:
            favourite = order.randrange(GROUPS)
        ready = [own for own in groups if own not in met]
        own = favourite if favourite in ready and order.random() < 0.98 else order.choice(ready)
        state = next(groups[own], "ends")
        idle = idle + 1 if state == "waits" else 0
        assert idle < 10_000, "nobody goes on"
        if state == "ends":
            del groups[own]
        elif state == "meets":
            met.add(own)
        if met and met == set(groups):
            met.clear()
