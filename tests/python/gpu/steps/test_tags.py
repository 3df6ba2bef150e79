"""No group overtakes another: steps with tags are run by groups in any order, value by value."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Type
from support import tiny_gemma, tiny_llama
from support.architectures.gemma4 import write_gemma4
from support.glsl_constants import constants
from support.tag_simulation import GROUPS, NO_TAG, OvertakenError, is_copied, run, writes_of

from llm.files.gguf import GgufFile
from llm.gpu.kernels.shader_source import INCLUDES
from llm.gpu.operations import Tensor
from llm.gpu.steps import slices, tags
from llm.gpu.steps import steps as layout
from llm.gpu.steps.attention import Attention, Join
from llm.gpu.steps.fusion import StepScratch, fuse
from llm.gpu.steps.packing import Grid, Words
from llm.gpu.steps.steps import Epilogue, NormParts, Product, Prologue, Step
from llm.gpu.steps.tags import NO_PLACES, tag_steps
from llm.models.registry import Limits, make_program

GRID = Grid(3, 8)
COPIES = 1 << 20
WRITERS: dict[str, Callable[..., Path]] = {
    "gemma3": tiny_gemma.write_tiny_gemma,
    "llama": tiny_llama.write_tiny_llama,
    "gemma4": write_gemma4,
}
MIXED = {"gemma3": tiny_gemma.MIXED, "llama": tiny_llama.MIXED, "gemma4": {}}


@pytest.fixture(scope="module", params=WRITERS)
def architecture(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=["gate and up alike", "gate and up apart", "long inputs"])
def steps(
    request: pytest.FixtureRequest, architecture: str, tmp_path_factory: pytest.TempPathFactory
) -> list[Step]:
    path = tmp_path_factory.mktemp("models") / "tiny.gguf"
    up = Type.Q8_0 if request.param == "gate and up apart" else Type.Q5_0
    formats = {**MIXED[architecture], "ffn_gate": Type.Q5_0, "ffn_up": up}
    WRITERS[architecture](path, formats=formats)
    tape = make_program(GgufFile.open(str(path)), Limits(96, 8, 1)).record(1, 1)
    stream = Tensor(tape.work_floats, 1, tape.operations[0].y.width)
    partials = Tensor(tape.work_floats + stream.width, 1, 1 << 14)
    of_windows = replace(partials, offset=partials.offset + partials.width)
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "long inputs":
            patch.setattr(slices, "MOST_INPUT", 256)
        found = fuse(tape, StepScratch(stream, partials, of_windows, 16))
    is_cut = any(isinstance(step, Product) and step.start for step in found)
    assert is_cut == (request.param == "long inputs")
    return found


def in_parts(steps: list[Step]) -> list[Step]:
    """All cells in three parts, those of a window in one: a group has the heads of a part."""
    found: list[Step] = []
    for step in steps:
        if isinstance(step, Attention):
            parted = replace(step, has_parts=True, kv_heads=1, together=step.group_heads)
            assert parted.parts(GROUPS) == (1 if step.window else 3)
            found += [parted, Join(parted)]
        else:
            found.append(step)
    return found


@pytest.fixture(params=["cells together", "cells in parts"])
def all_steps(request: pytest.FixtureRequest, steps: list[Step]) -> list[Step]:
    return steps if request.param == "cells together" else in_parts(steps)


def packed(steps: list[Step]) -> list[Words]:
    return [step.pack(1, lambda _weight: [0], GRID, GROUPS) for step in steps]


@pytest.mark.parametrize("seed", range(8))
def test_no_group_overtakes_another(all_steps: list[Step], seed: int) -> None:
    words = packed(all_steps)
    places = tag_steps(all_steps, words, COPIES, GRID, GROUPS)
    assert places != NO_PLACES
    run(all_steps, words, seed)


def test_only_the_embedding_and_the_logits_need_a_barrier(
    all_steps: list[Step], architecture: str
) -> None:
    """And what others than the next step read: it has no tags, by which it would be seen."""
    words = packed(all_steps)
    tag_steps(all_steps, words, COPIES, GRID, GROUPS)
    stays = [bool(found[layout.STAYS]) for found in words]
    expected = [not step.meets for step in all_steps]
    expected[0] = expected[-1] = False
    assert stays == expected
    # the inputs of all layers, and the cells of two layers that others read
    assert sum(step.meets for step in all_steps) == (3 if architecture == "gemma4" else 0)


def test_a_row_from_ram_is_not_cleared(steps: list[Step], architecture: str) -> None:
    """Where it would be, barriers stay."""
    if architecture != "gemma4":
        return
    norm = steps[1]
    assert isinstance(norm, NormParts)
    places = tag_steps(steps, packed(steps), COPIES, GRID, GROUPS)
    assert norm.y.offset + norm.y.width <= places.first
    moved = replace(norm, y=replace(norm.y, offset=places.first))
    changed = [steps[0], moved, *steps[2:]]
    assert tag_steps(changed, packed(changed), COPIES, GRID, GROUPS) == NO_PLACES


def tensors_of(steps: list[Step]) -> list[Tensor]:
    found: list[Tensor] = []
    for step in steps:
        if isinstance(step, Attention):
            found += [step.y, step.left(GROUPS)]
        elif isinstance(step, Product):
            found += [*step.outputs, *filter(None, [step.x_out])]
    return found


def test_all_places_are_cleared(all_steps: list[Step]) -> None:
    places = tag_steps(all_steps, packed(all_steps), COPIES, GRID, GROUPS)
    ends = {tensor.offset: tensor.offset + tensor.width for tensor in tensors_of(all_steps)}
    for step in all_steps:
        for write in writes_of(step, is_copied=is_copied(all_steps)):
            if write.field == NO_TAG:
                continue
            is_part = isinstance(step, Attention) and step.has_parts
            first = places.first_part if is_part else places.first
            assert first <= write.at[0]
            assert ends[write.at[0]] <= first + (places.n_parts if is_part else places.count)


def test_each_group_has_a_copy_of_a_stream_that_is_normed(
    steps: list[Step], architecture: str
) -> None:
    words = packed(steps)
    tag_steps(steps, words, COPIES, GRID, GROUPS)
    for step, found in zip(steps, words, strict=True):
        writes = architecture != "llama" and isinstance(step, Product) and step.x_out is not None
        is_norm = isinstance(step, Product) and step.prologue is Prologue.NORM
        reads = writes or (architecture != "llama" and is_norm)
        assert int(found[layout.COPIES]) == (step.width if reads else 0)
        assert (int(found[layout.X_OUT]) == COPIES) == writes


def without(words: list[Words], field: int) -> None:
    """Takes the tags of a field away."""
    for found in words:
        found[layout.TAGS] &= ~np.uint32(15 << field)


@pytest.mark.parametrize("field", [tags.TAG_X, tags.TAG_OUT])
def test_without_tags_groups_overtake(all_steps: list[Step], field: int) -> None:
    """So that the test above could fail."""
    words = packed(all_steps)
    tag_steps(all_steps, words, COPIES, GRID, GROUPS)
    without(words, field)
    with pytest.raises((OvertakenError, AssertionError)):
        for seed in range(8):
            run(all_steps, words, seed)


def test_a_shared_embedding_needs_a_barrier(steps: list[Step], architecture: str) -> None:
    """But not copies, which no group reads of another."""
    words = packed(steps)
    tag_steps(steps, words, COPIES, GRID, GROUPS)
    words[0][layout.STAYS] = words[-1][layout.STAYS] = 1
    fails = pytest.raises((OvertakenError, AssertionError))
    overtakes = fails if architecture == "llama" else nullcontext()
    with overtakes:
        for seed in range(20):
            run(steps, words, seed)


def unread_output(steps: list[Step]) -> None:
    step = steps[-1]
    assert isinstance(step, Product)
    field = "y" if step.prologue is Prologue.ADD_NORM else "x"
    steps[-1] = replace(step, **{field: Tensor(1 << 19, 1, step.width)})


def first_attention(steps: list[Step]) -> tuple[int, Attention, Product]:
    """Its number, and the product that follows."""
    number = next(n for n, step in enumerate(steps) if isinstance(step, Attention))
    attention, product = steps[number : number + 2]
    assert isinstance(attention, Attention)
    assert isinstance(product, Product)
    return number, attention, product


def short_rows(steps: list[Step]) -> None:
    number, _, step = first_attention(steps)
    number += 1
    few = [replace(weight, rows=1) for weight in step.weights]
    steps[number] = replace(step, weights=few)


def overlapping(steps: list[Step]) -> None:
    number, attention, product = first_attention(steps)
    moved = replace(attention.y, offset=attention.q.offset + 4)
    steps[number] = replace(attention, y=moved)
    steps[number + 1] = replace(product, x=moved)


def output_that_is_still_read(steps: list[Step]) -> None:
    """The attention leaves its sums where its keys are, which slower groups still read."""
    number, attention, product = first_attention(steps)
    steps[number] = replace(attention, y=attention.q)
    steps[number + 1] = replace(product, x=attention.q)


def output_that_slow_groups_still_read(steps: list[Step]) -> None:
    """An attention has seen only some of the groups come out of the product before it."""
    number = [n for n, step in enumerate(steps) if isinstance(step, Attention)][1]
    before, attention, after, norm = steps[number - 1 : number + 3]
    assert isinstance(before, Product)
    assert isinstance(attention, Attention)
    assert isinstance(after, Product)
    assert isinstance(norm, Product)
    place = before.y or before.x
    assert place is not None
    steps[number] = replace(attention, y=place)
    elsewhere = Tensor(1 << 18, 1, norm.width)
    steps[number + 1] = replace(after, x=place, outputs=[elsewhere], epilogue=Epilogue.STORE)
    steps[number + 2] = replace(norm, **{"y" if norm.y else "x": elsewhere})


def added_to_copies(steps: list[Step]) -> None:
    """A product adds to a residual stream of which the norms have copies."""
    number, _, product = first_attention(steps)
    norm = steps[number + 2]
    assert isinstance(norm, Product)
    steps[number + 1] = replace(product, epilogue=Epilogue.ADD)
    steps[number + 2] = replace(norm, prologue=Prologue.ADD_NORM, y=product.outputs[0])


def no_embedding(steps: list[Step]) -> None:
    product = steps[0]
    assert isinstance(product, Product)
    steps[0] = replace(product, prologue=Prologue.PLAIN, x=Tensor(1 << 19, 1, product.width))


def windows_of_other_parts(steps: list[Step]) -> None:
    """Attention leaves other numbers of parts at one place: not all of them with each tag."""
    changed = in_parts(steps)
    first = next(step for step in changed if isinstance(step, Attention))
    for number, step in enumerate(changed):
        if isinstance(step, Attention):
            most = 2 if step is first else step.n_parts
            changed[number] = replace(step, window=0, n_parts=most, partials=first.partials)
            changed[number + 1] = Join(changed[number])
    steps[:] = changed


@pytest.mark.parametrize(
    "change",
    [
        windows_of_other_parts,
        added_to_copies,
        no_embedding,
        short_rows,
        unread_output,
        overlapping,
        output_that_is_still_read,
        output_that_slow_groups_still_read,
    ],
)
def test_where_barriers_stay(steps: list[Step], change: Callable[[list[Step]], None]) -> None:
    """And nothing is changed then."""
    changed = list(steps)
    change(changed)
    words = packed(changed)
    before = [found.copy() for found in words]
    assert tag_steps(changed, words, COPIES, GRID, GROUPS) == NO_PLACES
    assert all(np.array_equal(*pair) for pair in zip(words, before, strict=True))


def test_fields_are_the_kernels() -> None:
    glsl = constants((INCLUDES / "step_tags.glslh").read_text(encoding="ascii"))
    for name in ("TAG_X", "TAG_Y", "TAG_OUT", "TAG_X_OUT"):
        assert glsl[name] == getattr(tags, name)
    assert (glsl["TAG_FIRST"], glsl["TAG_TURNS"], glsl["TAG_IS_USED"]) == (
        1,
        tags.TURNS,
        tags.IS_USED,
    )
