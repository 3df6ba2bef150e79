"""Python packs the steps of columns.comp where the kernel looks for their words."""

import re

from support.glsl_constants import constants

from llm.gpu.columns import words
from llm.gpu.kernels.kernel import FORMAT_IDS
from llm.gpu.kernels.shader_source import INCLUDES
from llm.gpu.kernels.variants import KERNELS


def test_names_and_numbers() -> None:
    glsl = constants((INCLUDES / "column_words.glslh").read_text(encoding="ascii"))
    python = {name: value for name, value in vars(words).items() if name.isupper()}
    assert glsl == python


def test_every_format_has_its_product() -> None:
    """Or steps of a format would do nothing."""
    cases = str(KERNELS["columns_8"].defines["PRODUCT_CASES"])
    found = re.findall(r"case KIND_PRODUCT \+ (\d+)u: tiles_(\w+)\(\); break;", cases)
    assert {name: int(number) for number, name in found} == FORMAT_IDS
    assert len(found) == len(FORMAT_IDS)


def test_words_of_a_step_do_not_overlap() -> None:
    product = (
        (words.STEP_KIND, 1),
        (words.STEP_X, 1),
        (words.STEP_WIDTH, 1),
        (words.STEP_OUTPUT, 1),
        (words.STEP_ACTIVATION, 1),
        (words.STEP_EPS, 1),
        (words.STEP_NORM, 2),
        (words.STEP_SETS, 1),
        (words.STEP_PARTS, 1),
        (words.STEP_SEGMENT, words.MAX_SEGMENTS * words.SEGMENT_WORDS),
        (words.STEP_BIASES, 2 * words.MAX_SEGMENTS),
        (words.STEP_FIRST_GROUP, 1),
        (words.STEP_GROUPS, 1),
        (words.STEP_STAYS, 1),
    )
    heads = (
        (words.STEP_KIND, 1),
        (words.STEP_Q, 1),
        (words.STEP_K, 1),
        (words.STEP_V, 1),
        (words.STEP_SCALE, 1),
        (words.STEP_EPS, 1),
        (words.STEP_Q_NORM, 2),
        (words.STEP_K_NORM, 2),
        (words.STEP_TABLE, 2),
        (words.STEP_K_CACHE, 1),
        (words.STEP_V_CACHE, 1),
        (words.STEP_OUT, 1),
        (words.STEP_WINDOW, 1),
        (words.STEP_KV_HEADS, 1),
        (words.STEP_TURNED, 1),
        (words.STEP_IS_ADJACENT, 1),
        (words.STEP_MAGNITUDE, 1),
        (words.STEP_SOFT_CAP, 1),
        (words.STEP_TEMPERATURE, 1),
        (words.STEP_TEMPERATURE_LENGTH, 1),
    )
    for fields in (product, heads):
        end = 0
        for start, size in fields:
            assert start >= end
            end = start + size
        assert end <= words.STEP_WORDS
    assert words.SEGMENT_PLANES + 8 <= words.SEGMENT_WORDS
