"""The steps kernel is asked for where it fits the model and the device, and nowhere else."""

from collections.abc import Sequence

import pytest
from support.glsl_constants import shared_bytes

from llm.files.formats import FORMATS
from llm.gpu.kernels.resident import RESIDENT_SUBGROUPS
from llm.gpu.kernels.shader_source import expand_kernel
from llm.gpu.operations import Activation, CacheSlab, Pairing, Weight
from llm.gpu.sampler import LISTED, sample_scratch
from llm.gpu.steps.errors import NoStepError
from llm.gpu.steps.residency import MOST_GROUPS
from llm.gpu.steps.step_sizes import MAX_PARTS, StepSizes
from llm.gpu.tape import Tape

F32, F16, Q8_0, Q4_K = (FORMATS[number] for number in (0, 1, 8, 12))
PLENTY = 1 << 20  # bytes
CASES = ("one();", "two();")
Heads = tuple[int, int, int]  # query heads, key/value heads, head size


def tape_of(layers: Sequence[Heads], width: int = 256, feed_forward: int = 512) -> Tape:
    """Of a model like Llama."""
    tape = Tape(1, 1)
    table = Weight("table", F32, 4, 2)
    norm = Weight("norm", F32, 1, width)
    x, h = tape.tensor(width), tape.tensor(width)
    tape.embed(Weight("embedding", Q8_0, 300, width), x)
    for heads, kv_heads, head_size in layers:
        q, mixed = tape.tensor(heads * head_size), tape.tensor(heads * head_size)
        k, v = tape.tensor(kv_heads * head_size), tape.tensor(kv_heads * head_size)
        gate, up = tape.tensor(feed_forward), tape.tensor(feed_forward)
        slab = CacheSlab(0, 1 << 16, k.width)
        tape.rms_norm(norm, x, h, 1e-6)
        for y in (q, k, v):
            tape.matmul(Weight("matrix", Q4_K, y.width, width), h, y)
        tape.rotate(q, table, heads=heads, pairing=Pairing.HALVES)
        tape.rotate(k, table, heads=kv_heads, pairing=Pairing.HALVES)
        tape.cache_store(k, v, slab)
        tape.attend(q, slab, mixed, heads=heads, kv_heads=kv_heads)
        tape.matmul(Weight("matrix", Q4_K, width, mixed.width), mixed, x, residual=x)
        tape.rms_norm(norm, x, h, 1e-6)
        for y in (gate, up):
            tape.matmul(Weight("matrix", Q4_K, feed_forward, width), h, y)
        tape.gated_unit(gate, up, gate, Activation.SILU)
        tape.matmul(Weight("matrix", F16, width, feed_forward), gate, x, residual=x)
    logits = tape.tensor(300)
    tape.rms_norm(norm, x, h, 1e-6)
    tape.matmul(Weight("head", Q8_0, 300, width), h, logits)
    tape.logits = logits
    return tape


def fits(heads: Heads, subgroup_size: int, shared_memory: int = PLENTY) -> bool:
    sizes = StepSizes(tape_of([heads]))
    return (
        sizes.kernel(subgroup_size, shared_memory, CASES, context=4097, has_integer_dot=True)
        is not None
    )


def test_sizes() -> None:
    sizes = StepSizes(tape_of([(6, 2, 64)], width=320, feed_forward=800))
    assert (sizes.width, sizes.head_size, sizes.group_heads) == (320, 64, 3)
    assert (sizes.longest_input, sizes.longest_normed) == (800, 320)
    assert sizes.formats == {"q8_0", "q4_k", "f16"}
    sizes = StepSizes(tape_of([(16, 2, 64)], width=320, feed_forward=96))
    assert (sizes.longest_input, sizes.longest_normed) == (1024, 320)  # all heads together


@pytest.mark.parametrize(
    ("heads", "subgroup_size", "expected"),
    [
        pytest.param((6, 2, 64), 32, True, id="as most have it"),
        pytest.param((6, 2, 64), 8, True, id="subgroups of a software driver"),
        pytest.param((6, 2, 64), 4, False, id="smaller subgroups"),
        pytest.param((6, 2, 64), 0, False, id="no subgroups"),
        pytest.param((6, 2, 64), 64, False, id="fewer pairs of a head than lanes"),
        pytest.param((6, 2, 128), 64, True, id="as many pairs as lanes"),
        pytest.param((2, 2, 32), 8, True, id="as many pairs as subgroups"),
        pytest.param((2, 2, 16), 8, False, id="fewer pairs than subgroups"),
        pytest.param((6, 2, 96), 32, False, id="no power of two"),
        pytest.param((6, 2, 80), 8, False, id="no power of two, small"),
        pytest.param((8, 2, 512), 32, True, id="large heads"),
        pytest.param((71, 1, 64), 32, True, id="more heads on one than a group has subgroups"),
        pytest.param((65, 65, 64), 32, True, id="more heads than parts are counted of"),
    ],
)
def test_where_the_kernel_fits(heads: Heads, subgroup_size: int, expected: bool) -> None:
    assert fits(heads, subgroup_size) == expected


@pytest.mark.parametrize("width", [256, 320, 2048])
@pytest.mark.parametrize("feed_forward", [96, 416, 800, 8192])
@pytest.mark.parametrize(
    ("heads", "subgroup_size"),
    [((4, 1, 256), 32), ((6, 2, 64), 8), ((14, 1, 128), 64), ((2, 2, 64), 32), ((12, 1, 512), 16)],
    ids=str,
)
def test_shared_memory(heads: Heads, subgroup_size: int, width: int, feed_forward: int) -> None:
    """Exactly what the GLSL declares, so that no driver is asked for more than it has."""
    sizes = StepSizes(tape_of([heads], width, feed_forward))
    kernel = sizes.kernel(subgroup_size, PLENTY, CASES, context=4097, has_integer_dot=True)
    assert kernel is not None
    needed = shared_bytes(expand_kernel(kernel))
    assert sizes.kernel(subgroup_size, needed, CASES, context=4097, has_integer_dot=True) == kernel
    assert (
        sizes.kernel(subgroup_size, needed - 1, CASES, context=4097, has_integer_dot=True) is None
    )


def test_a_large_model() -> None:
    """The sizes of Llama 3 8B, in the least shared memory that large GPUs have."""
    sizes = StepSizes(tape_of([(32, 8, 128)], width=4096, feed_forward=14336))
    for context, fits in ((16, True), (65_536, True), (65_537, False)):
        kernel = sizes.kernel(32, 48 << 10, CASES, context=context, has_integer_dot=True)
        assert (kernel is not None) == fits


@pytest.mark.parametrize("has_integer_dot", [True, False])
def test_kernel(has_integer_dot: bool) -> None:
    sizes = StepSizes(tape_of([(6, 2, 64)], width=320, feed_forward=800))
    kernel = sizes.kernel(16, PLENTY, CASES, context=4097, has_integer_dot=has_integer_dot)
    assert kernel is not None
    assert kernel.group_size == RESIDENT_SUBGROUPS * 16
    defines = {"SUBGROUP_SIZE": 16, "HEADS": "64", "LARGEST_HEAD": 64, "INPUT_SIZE": 800}
    defines |= {"TOGETHER": 2, "LANE_CELLS": 4, "PAGES": 128}
    defines |= {"MODEL_WIDTH": 320, "FORMATS": "f16 q4_k q8_0"}
    defines |= {"STEP_CASES": "case 1u: { one(); } break; case 2u: { two(); } break;"}
    assert kernel.defines == ({**defines, "HAS_INTEGER_DOT": 1} if has_integer_dot else defines)


def test_scratch() -> None:
    """Regions of the work buffer one after the other, read four floats at a time."""
    sizes = StepSizes(tape_of([(6, 2, 64), (3, 1, 64)]))
    scratch = sizes.scratch(1000)
    assert (scratch.stream.offset, scratch.stream.width) == (1000, 256)
    assert scratch.partials.offset == 1256
    assert scratch.window_partials.offset == 1256 + scratch.partials.width
    assert scratch.n_parts == MAX_PARTS
    partials = 6 * MAX_PARTS * (64 + 4)  # of the layer with most heads
    assert scratch.partials.width == scratch.window_partials.width == partials
    assert sizes.best(1000) == 1256 + 2 * partials
    maxima, listed = sizes.sample_lists(1000)
    assert maxima == sizes.best(1000) + 2 * MOST_GROUPS  # a value and an id of each group
    assert listed + 2 * LISTED == maxima + sample_scratch(MOST_GROUPS)
    assert sizes.copies(1000) == listed + 2 * LISTED
    assert sizes.scratch_floats == sizes.copies(1000) + MOST_GROUPS * 256 - 1000


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        pytest.param([], "a tape without attention", id="no layers"),
    ],
)
def test_models_without_steps(layers: list[Heads], message: str) -> None:
    with pytest.raises(NoStepError, match=message):
        StepSizes(tape_of(layers))


@pytest.mark.parametrize(
    ("other", "subgroup_size", "fits"),
    [
        pytest.param((4, 1, 128), 32, True, id="larger heads, more of them together"),
        pytest.param((4, 4, 32), 8, True, id="smaller heads"),
        pytest.param((4, 4, 32), 32, False, id="heads that are too small"),
        pytest.param((4, 4, 96), 32, False, id="no power of two"),
    ],
)
def test_layers_with_heads_of_other_sizes(other: Heads, subgroup_size: int, fits: bool) -> None:
    sizes = StepSizes(tape_of([(4, 2, 64), other]))
    kernel = sizes.kernel(subgroup_size, PLENTY, CASES, context=4097, has_integer_dot=True)
    assert (kernel is not None) == fits
    assert sizes.head_size == max(64, other[2])
    assert sizes.group_heads == max(2, other[0] // other[1])
    if kernel is not None:
        assert kernel.defines["LARGEST_HEAD"] == sizes.head_size
        needed = shared_bytes(expand_kernel(kernel))
        for memory in (needed, needed - 1):
            found = sizes.kernel(subgroup_size, memory, CASES, context=4097, has_integer_dot=True)
            assert (found is not None) == (memory == needed)
