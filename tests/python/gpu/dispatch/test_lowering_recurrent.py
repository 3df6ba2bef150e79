"""What recurrent operations become; rows of several sequences have groups of their own."""

import struct

import pytest

from llm.files.formats import FORMATS
from llm.gpu.device.placement import place
from llm.gpu.dispatch.dispatches import Dispatch
from llm.gpu.dispatch.lowering_recurrent import RecurrentLowering
from llm.gpu.kernels.variants import KERNELS
from llm.gpu.operations import PAIR_FLOATS, HeadMapping, StateSlab, Weight
from llm.gpu.tape import Tape

ROWS, HEADS, KEY_HEADS, SIZE, TAPS = 19, 6, 2, 20, 4
VALUES = HEADS * SIZE
CONVOLVED = 2 * KEY_HEADS * SIZE + VALUES
F32 = FORMATS[0]
TAPS_WEIGHT = Weight("taps", F32, CONVOLVED, TAPS)
DECAY, BIAS = Weight("decay", F32, 1, HEADS), Weight("bias", F32, 1, HEADS)
NORM = Weight("norm", F32, 1, SIZE)
WEIGHTS = [NORM, TAPS_WEIGHT, DECAY, BIAS]


def a_tape(rows: int = ROWS) -> Tape:
    tape = Tape(rows, 1)
    qkv, convolved = tape.tensor(CONVOLVED), tape.tensor(CONVOLVED)
    alpha, beta = tape.tensor(HEADS), tape.tensor(HEADS)
    pairs = tape.tensor(HEADS * PAIR_FLOATS)
    gate, y = tape.tensor(VALUES), tape.tensor(VALUES)
    inputs = StateSlab.after([], (TAPS - 1) * CONVOLVED)
    state = StateSlab.after([inputs], VALUES * SIZE)
    tape.convolve(TAPS_WEIGHT, qkv, convolved, inputs)
    tape.l2_norm(convolved, heads=2 * KEY_HEADS, head_size=SIZE, eps=1e-6)
    tape.delta_rule(
        convolved,
        alpha,
        beta,
        pairs,
        y,
        state,
        decay=DECAY,
        bias=BIAS,
        key_heads=KEY_HEADS,
        heads=HEADS,
        mapping=HeadMapping.GROUPED,
    )
    tape.gated_norm(NORM, y, gate, y, heads=HEADS, eps=1e-6)
    tape.slice_heads(y, tape.tensor(HEADS * 3), heads=HEADS, first=5)
    return tape


def lowered(*, is_cpu: bool, are_apart: bool, rows: int = ROWS) -> list[Dispatch]:
    lowering = RecurrentLowering(place(WEIGHTS), 7, is_cpu=is_cpu)
    made: list[Dispatch] = []
    for op in a_tape(rows).operations:
        found = lowering.lower(op, are_apart=are_apart)  # type: ignore[arg-type]
        made += found if isinstance(found, list) else [found]
    return made


def fields(dispatch: Dispatch) -> dict[str, int | float]:
    kernel = KERNELS[dispatch.kernel]
    values = struct.unpack(kernel.struct_format, dispatch.parameters)
    return dict(zip(kernel.params, values, strict=True))


@pytest.mark.parametrize("is_cpu", [True, False])
@pytest.mark.parametrize(("rows", "are_apart"), [(15, False), (15, True), (ROWS, True)])
def test_groups(is_cpu: bool, rows: int, are_apart: bool) -> None:
    dispatches = lowered(is_cpu=is_cpu, are_apart=are_apart, rows=rows)
    assert [(each.kernel, each.groups) for each in dispatches] == [
        (f"convolve_{TAPS}", (-(-CONVOLVED // 64), -(-rows // 8), 1)),
        ("l2_norm", (2 * KEY_HEADS, rows, 1)),
        (f"delta_rule_{SIZE}_32", (HEADS, rows if are_apart else 1, 1)),
        ("gated_norm", (HEADS, rows, 1)),
        ("slice_heads", (1, rows, 1)),
    ]
    assert [each.has_slots for each in dispatches] == [True, False, True, False, False]


@pytest.mark.parametrize(
    ("is_cpu", "pairs", "chunks"), [(True, "16", "32_2_1_0"), (False, "64", "16_1_1_1")]
)
def test_rows_of_a_prompt_are_taken_in_chunks(is_cpu: bool, pairs: str, chunks: str) -> None:
    """Heads of five vectors, which several threads could not share."""
    _, _, first, second, *_ = lowered(is_cpu=is_cpu, are_apart=False)
    blocks = 1 if is_cpu else 2
    assert (first.kernel, first.groups) == (f"delta_pairs_{SIZE}_{pairs}", (HEADS, 2, 1))
    assert (second.kernel, second.groups) == (
        f"delta_chunks_{SIZE}_{chunks}",
        (HEADS * blocks, 1, 1),
    )
    assert (first.has_slots, second.has_slots) == (False, True)
    assert set(first.writes) <= set(second.reads)
    assert not any(region.space == "slots" for region in first.writes)


def test_where_things_lie() -> None:
    convolve, _, rule, norm, slices = (
        fields(each) for each in lowered(is_cpu=True, are_apart=True)
    )
    placements = place(WEIGHTS).placements
    assert convolve["weight"] == placements["taps"].planes[0]
    assert (rule["decay"], rule["bias"]) == tuple(
        placements[name].planes[0] for name in ("decay", "bias")
    )
    assert (convolve["slab"], rule["slab"]) == (0, (TAPS - 1) * CONVOLVED)
    assert (convolve["table_quads"], rule["table_quads"]) == (7, 7)
    assert (rule["mapping"], norm["weight"]) == (1, placements["norm"].planes[0])
    assert (slices["head_size"], slices["size"], slices["first"]) == (SIZE, 3, 5)


def test_what_they_touch() -> None:
    """Layers' states are apart, and what one reads it also leaves."""
    convolve, _, rule, *_ = a_tape().operations
    [first], [second] = (
        [region for region in op.writes if region.space == "slots"] for op in (convolve, rule)
    )
    assert not first.overlaps(second)
    assert first in convolve.reads
    assert second in rule.reads


def test_shapes_that_do_not_fit() -> None:
    tape = Tape(ROWS, 1)
    x, y = tape.tensor(CONVOLVED), tape.tensor(CONVOLVED)
    with pytest.raises(ValueError, match="convolve state"):
        tape.convolve(TAPS_WEIGHT, x, y, StateSlab(0, 5))
    with pytest.raises(ValueError, match="convolve input width"):
        tape.convolve(TAPS_WEIGHT, x, y, StateSlab(0, 3 * CONVOLVED), is_gated=True)
    with pytest.raises(ValueError, match="l2_norm: 99 heads"):
        tape.l2_norm(x, heads=99, head_size=SIZE, eps=1e-6)
    with pytest.raises(ValueError, match="slice_heads"):
        tape.slice_heads(x, tape.tensor(10), heads=10, first=20)
    with pytest.raises(ValueError, match="gated_norm width"):
        tape.gated_norm(NORM, x, y, y, heads=3, eps=1e-6)
