"""A step is packed where the kernel looks for its words; no word that has a name is left out."""

import re

import numpy as np
import pytest
from support.glsl_constants import constants
from support.step_words import address_at

from llm.files.formats import FORMATS
from llm.gpu.kernels.shader_source import INCLUDES, expand
from llm.gpu.operations import Activation, CacheSlab, Pairing, Tensor, Weight
from llm.gpu.state import NONE
from llm.gpu.steps import ahead, packing, steps
from llm.gpu.steps.attention import SINKS, Attention, Join
from llm.gpu.steps.packing import Grid
from llm.gpu.steps.steps import Epilogue, Product, Prologue, plan_rows

GRID = Grid(groups=3, subgroup_size=8)
KIND = 7
GLSL = constants((INCLUDES / "step_words.glslh").read_text(encoding="ascii"))
Q4_K, F32 = FORMATS[12], FORMATS[0]
WEIGHTS = [
    Weight("first", F32, 700, 256),
    Weight("second", Q4_K, 1000, 256),
    Weight("third", Q4_K, 60, 256),
]
EMBEDDING = Weight("embedding", FORMATS[8], 300, 256)
NORM, POST_NORM = Weight("norm", F32, 1, 256), Weight("post norm", F32, 1, 256)
NAMES = [weight.name for weight in (*WEIGHTS, EMBEDDING, NORM, POST_NORM)]
OUTPUTS = [Tensor(12, 1, 700), Tensor(800, 1, 1000), Tensor(2000, 1, 60)]


def locate(weight: Weight) -> list[int]:
    """As many planes as a format may have, beyond 32 bits; a vector has one."""
    start = (NAMES.index(weight.name) + 5) << 40 | 0x80000000
    return [start + 256 * plane for plane in range(1 if weight.rows == 1 else 3)]


def float_at(words: np.ndarray, at: int) -> float:
    return float(words[at : at + 1].view(np.float32)[0])


def a_product(**changes: object) -> Product:
    product = Product(
        prologue=Prologue.ADD_NORM,
        width=256,
        weights=WEIGHTS,
        outputs=OUTPUTS,
        x=Tensor(3000, 1, 256),
        y=Tensor(3300, 1, 256),
        x_out=Tensor(3600, 1, 256),
        norm=NORM,
        post_norm=POST_NORM,
        eps=1e-6,
        embedding=EMBEDDING,
        scale=16.5,
        activation=Activation.SILU,
    )
    for name, value in changes.items():
        setattr(product, name, value)
    return product


PRODUCT_WORDS = {"STEP_KIND": KIND, "STEP_X": 3000, "STEP_Y": 3300, "STEP_X_OUT": 3600}
ATTENTION_WORDS = {
    "STEP_KIND": KIND,
    "STEP_Q": 4,
    "STEP_K": 500,
    "STEP_V": 600,
    "STEP_K_CACHE": 64,
    "STEP_V_CACHE": 4096,
    "STEP_OUT": 700,
    "STEP_PARTIALS": 9000,
    "STEP_PARTS": 2,
    "STEP_WINDOW": 512,
}
TAG_WORDS = {"STEP_TAGS": steps.TAGS, "STEP_COPIES": steps.COPIES}
AHEAD_WORDS = {"STEP_AHEAD": steps.AHEAD, "STEP_AHEAD_LINES": steps.AHEAD_LINES}
NEXT_WORDS = {
    "STEP_NEXT": steps.NEXT,
    "STEP_NEXT_STRIDE": steps.NEXT_STRIDE,
    "STEP_NEXT_END": steps.NEXT_END,
}
OWN_WORDS = {"STEP_WITH": steps.WITH, "STEP_FACTOR": steps.FACTOR}
PICK_WORDS = {"STEP_KIND": KIND, "STEP_STAYS": 1}
ADDRESSES = (
    "STEP_NORM",
    "STEP_POST_NORM",
    "STEP_Q_NORM",
    "STEP_K_NORM",
    "STEP_TABLE",
    "STEP_SINKS",
)
OUTPUT_WORDS = {
    "STEP_CAP": steps.CAP,
    "STEP_BIAS": steps.BIAS,
    "STEP_BIAS_PLACES": steps.BIAS_PLACES,
}
FLOATS = ("STEP_EPS", "STEP_SCALE")
REGIONS = ("STEP_SEGMENT", "STEP_EMBEDDING")
SEGMENT_WORDS = ("HEIGHT", "OUT", "PASSES", "BEFORE", "PLANES", "WORDS")


def test_every_named_word_is_tested() -> None:
    words = (*PRODUCT_WORDS, *ATTENTION_WORDS, *PICK_WORDS, *TAG_WORDS, *AHEAD_WORDS, *NEXT_WORDS)
    words += (*OUTPUT_WORDS, *OWN_WORDS)
    tested = {*words, *ADDRESSES, *FLOATS, *REGIONS, "STEP_WORDS"}
    assert {name for name in GLSL if name.startswith("STEP_")} == tested
    segment = {f"SEGMENT_{name}" for name in SEGMENT_WORDS}
    assert {name for name in GLSL if name.startswith("SEGMENT_")} == segment


def test_sizes_and_numbers() -> None:
    assert GLSL["STEP_WORDS"] == packing.STEP_WORDS
    assert GLSL["STEP_EMBEDDING"] + 8 <= packing.STEP_WORDS
    assert GLSL["SEGMENT_PLANES"] + 8 <= GLSL["SEGMENT_WORDS"]
    end = GLSL["STEP_SEGMENT"] + steps.MAX_SEGMENTS * GLSL["SEGMENT_WORDS"]
    assert end <= GLSL["STEP_EMBEDDING"]
    assert GLSL["STEP_EMBEDDING"] + 8 <= GLSL["STEP_STAYS"] < GLSL["STEP_TAGS"]
    assert GLSL["STEP_TAGS"] < GLSL["STEP_COPIES"] < GLSL["STEP_NEXT"]
    assert GLSL["STEP_NEXT"] + 2 == GLSL["STEP_NEXT_STRIDE"] == GLSL["STEP_NEXT_END"] - 1
    assert GLSL["STEP_NEXT_END"] < GLSL["STEP_WITH"] < GLSL["STEP_FACTOR"] < packing.STEP_WORDS
    assert GLSL["STEP_WITH"] < GLSL["STEP_CAP"] < packing.STEP_WORDS
    assert {name: GLSL[name] for name in OWN_WORDS} == OWN_WORDS
    assert packing.STEP_WORDS % 4 == 0  # or a token takes 5 % longer
    assert {name: GLSL[name] for name in NEXT_WORDS} == NEXT_WORDS
    assert {name: GLSL[name] for name in TAG_WORDS} == TAG_WORDS
    assert {name: GLSL[name] for name in AHEAD_WORDS} == AHEAD_WORDS
    assert {name: GLSL[name] for name in OUTPUT_WORDS} == OUTPUT_WORDS
    assert GLSL["STEP_AHEAD_LINES"] < GLSL["STEP_SINKS"] == SINKS
    assert GLSL["STEP_NEXT_END"] < steps.BIAS_PLACES <= packing.STEP_WORDS - steps.MAX_SEGMENTS
    assert GLSL["STEP_WINDOW"] < GLSL["STEP_AHEAD"] == GLSL["STEP_AHEAD_LINES"] - 2
    assert tuple(GLSL[f"STEP_{name}"] for name in ("X", "Y", "X_OUT", "STAYS")) == (
        steps.X,
        steps.Y,
        steps.X_OUT,
        steps.STAYS,
    )
    gate = constants((INCLUDES / "gate.glslh").read_text(encoding="ascii"))
    assert gate["ACTIVATION_SILU"] == Activation.SILU
    assert gate["ACTIVATION_SIGMOID"] == Activation.SIGMOID
    assert gate["ACTIVATION_CLAMPED"] == Activation.CLAMPED


def test_a_pick() -> None:
    """Only picks stay, without a barrier behind them; a draw needs one before, to list for it."""
    for pick in (*steps.LIKELIEST, *steps.DRAWN):
        words = steps.Pick.pack(pick, KIND, locate, GRID, 3)
        assert int(words[GLSL["STEP_KIND"]]) == KIND
        assert bool(words[GLSL["STEP_STAYS"]]) == (pick is not steps.DRAWN[0])
        assert np.count_nonzero(words) == 1 + pick.stays
    assert not a_product().pack(KIND, locate, GRID, 3)[GLSL["STEP_STAYS"]]


@pytest.mark.parametrize("prefix", ["INPUT_", "OUTPUT_"])
def test_what_cases_name_has_a_number_of_its_own(prefix: str) -> None:
    cases = [
        a_product(prologue=prologue, epilogue=epilogue).case(GRID)
        for prologue in Prologue
        for epilogue in Epilogue
    ]
    named = set(re.findall(rf"\b{prefix}\w+", " ".join(cases)))
    numbers = {name: number for name, number in GLSL.items() if name.startswith(prefix)}
    assert numbers.keys() == named
    assert len(set(numbers.values())) == len(numbers)


@pytest.mark.parametrize("name", ["steps", "steps_plain"])
def test_sizes_in_the_kernel(name: str) -> None:
    kernel = constants(expand(name))
    assert kernel["SUBGROUPS"] == packing.SUBGROUPS
    assert kernel["PART_WEIGHTS"] == steps.PART_WEIGHTS
    assert kernel["LINE_WORDS"] * 4 == ahead.LINE


def test_wide_units() -> None:
    """Formats that the plan of the rows takes for wide are so in the kernel, and no others."""
    glsl = (INCLUDES / "step_rows.glslh").read_text(encoding="ascii")
    wide = re.findall(r"#ifdef IS_(\w+)\n#define UNIT_PARTS 2u\n", glsl)
    assert tuple(name.lower() for name in wide) == steps.WIDE_UNITS


@pytest.mark.parametrize("groups", [3, 5])
def test_a_product(groups: int) -> None:
    """Run by as many groups as the case was made for, or by others."""
    words = a_product().pack(KIND, locate, GRID, groups)
    assert words.shape == (packing.STEP_WORDS,)
    assert {name: words[GLSL[name]] for name in PRODUCT_WORDS} == PRODUCT_WORDS
    assert address_at(words, GLSL["STEP_NORM"]) == locate(NORM)[0]
    assert address_at(words, GLSL["STEP_POST_NORM"]) == locate(POST_NORM)[0]
    assert float_at(words, GLSL["STEP_EPS"]) == np.float32(1e-6)
    assert float_at(words, GLSL["STEP_SCALE"]) == 16.5
    plan = plan_rows([700, 1000, 60], 256, GRID, unit_parts=2, is_gated=False)
    before = 0
    for number, (weight, output) in enumerate(zip(WEIGHTS, OUTPUTS, strict=True)):
        segment = words[GLSL["STEP_SEGMENT"] + number * GLSL["SEGMENT_WORDS"] :]
        assert segment[GLSL["SEGMENT_HEIGHT"]] == weight.rows
        assert segment[GLSL["SEGMENT_OUT"]] == output.offset
        assert segment[GLSL["SEGMENT_PASSES"]] == plan.passes[number]
        assert segment[GLSL["SEGMENT_BEFORE"]] == before % (groups * packing.SUBGROUPS)
        assert planes_at(segment[GLSL["SEGMENT_PLANES"] :]) == locate(weight)
        before += plan.passes[number]
    assert before > groups * packing.SUBGROUPS  # or the remainder shows nothing
    assert planes_at(words[GLSL["STEP_EMBEDDING"] :]) == locate(EMBEDDING)


def test_what_a_gate_is_multiplied_by() -> None:
    step = a_product(epilogue=Epilogue.GATED_WITH, gated=Tensor(5000, 1, 700, 8000))
    words = step.pack(KIND, locate, GRID, 3)
    assert words[GLSL["STEP_WITH"]] == 5000


@pytest.mark.parametrize("is_in_ram", [True, False])
def test_a_norm_of_parts(is_in_ram: bool) -> None:
    """The factor is also that of the row; a row from RAM is scaled already."""
    x, y = Tensor(3000, 1, 1024), Tensor(3600, 1, 1024)
    step = steps.NormParts(x, y, NORM, 1e-6, 4, EMBEDDING, 16.0, 0.5, is_in_ram)
    words = step.pack(KIND, locate, GRID, 3)
    assert [words[GLSL[name]] for name in ("STEP_KIND", "STEP_X", "STEP_Y")] == [KIND, 3000, 3600]
    assert float_at(words, GLSL["STEP_SCALE"]) == (0.5 if is_in_ram else 8.0)
    assert float_at(words, GLSL["STEP_FACTOR"]) == 0.5
    assert float_at(words, GLSL["STEP_EPS"]) == np.float32(1e-6)
    assert address_at(words, GLSL["STEP_NORM"]) == locate(NORM)[0]
    assert planes_at(words[GLSL["STEP_EMBEDDING"] :]) == locate(EMBEDDING)


def planes_at(words: np.ndarray) -> list[int]:
    found = [address_at(words, 2 * plane) for plane in range(4)]
    assert found[3] == 0
    return found[:3]


def test_biases() -> None:
    """In any order, as far apart as small weights may be."""
    biases = [NORM, EMBEDDING, POST_NORM]
    starts = {"norm": 7 << 40, "embedding": (7 << 40) + 64, "post norm": (7 << 40) - (1 << 30)}
    step = a_product(post_norm=None, biases=biases, epilogue=Epilogue.BIASED)
    words = step.pack(KIND, lambda weight: [starts.get(weight.name, 0)], GRID, 3)
    first = address_at(words, GLSL["STEP_BIAS"])
    places = words[GLSL["STEP_BIAS_PLACES"] :][:3].tolist()
    assert [first + 4 * place for place in places] == list(starts.values())


def test_a_cap_of_logits() -> None:
    """Beside the factor of the sum before it."""
    words = a_product(logit_cap=30.0, epilogue=Epilogue.CAPPED).pack(KIND, locate, GRID, 3)
    assert float_at(words, GLSL["STEP_CAP"]) == 30.0
    assert float_at(words, GLSL["STEP_SCALE"]) == 16.5


def test_what_a_product_has_not() -> None:
    bare = {"x": None, "y": None, "x_out": None, "norm": None, "post_norm": None}
    step = a_product(embedding=None, weights=WEIGHTS[:1], outputs=OUTPUTS[:1], **bare)
    words = step.pack(KIND, locate, GRID, 3)
    assert [words[GLSL[name]] for name in ("STEP_X", "STEP_Y", "STEP_X_OUT")] == [NONE] * 3
    assert [address_at(words, GLSL[name]) for name in ADDRESSES[:2]] == [0, 0]
    assert not words[GLSL["STEP_SEGMENT"] + GLSL["SEGMENT_WORDS"] :].any()


@pytest.mark.parametrize("is_normed", [True, False])
def test_attention(is_normed: bool) -> None:
    attention = Attention(
        q=Tensor(4, 1, 384),
        k=Tensor(500, 1, 128),
        v=Tensor(600, 1, 128),
        y=Tensor(700, 1, 384),
        q_norm=NORM if is_normed else None,
        k_norm=POST_NORM if is_normed else None,
        table=Weight("embedding", F32, 20, 2),
        pairing=Pairing.ADJACENT,
        eps=1e-5,
        scale=0.125,
        cache=CacheSlab(64, 4096, 128),
        kv_heads=2,
        window=512,
        partials=Tensor(9000, 1, 32 * 6 * 68),
        n_parts=32,
        has_parts=True,
        sinks=POST_NORM if is_normed else None,
    )
    words = attention.pack(KIND, locate, GRID, 13)
    assert words.shape == (packing.STEP_WORDS,)
    assert {name: words[GLSL[name]] for name in ATTENTION_WORDS} == ATTENTION_WORDS
    assert address_at(words, GLSL["STEP_TABLE"]) == locate(EMBEDDING)[0]
    norms = [address_at(words, GLSL[name]) for name in ("STEP_Q_NORM", "STEP_K_NORM")]
    assert norms == ([locate(NORM)[0], locate(POST_NORM)[0]] if is_normed else [0, 0])
    assert address_at(words, GLSL["STEP_SINKS"]) == (locate(POST_NORM)[0] if is_normed else 0)
    join = Join(attention).pack(KIND, locate, GRID, 13)
    assert address_at(join, GLSL["STEP_SINKS"]) == address_at(words, GLSL["STEP_SINKS"])
    for name in ("STEP_PARTIALS", "STEP_PARTS", "STEP_OUT"):
        assert join[GLSL[name]] == words[GLSL[name]]
    assert float_at(words, GLSL["STEP_EPS"]) == np.float32(1e-5)
    assert float_at(words, GLSL["STEP_SCALE"]) == 0.125
