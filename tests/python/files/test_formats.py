"""The table of block formats against the gguf package, which is the format's own description."""

import gguf
import pytest

from llm.files.formats import FORMATS, FORMATS_BY_NAME

# Newer than gguf 0.19; in ggml since 2026.
NEWER = {42: "q2_0"}


def test_every_format_of_the_gguf_package_is_known() -> None:
    theirs = {int(kind): kind.name.lower() for kind in gguf.GGML_QUANT_SIZES}
    assert {number: format.name for number, format in FORMATS.items()} == theirs | NEWER


@pytest.mark.parametrize("kind", gguf.GGML_QUANT_SIZES, ids=lambda kind: kind.name.lower())
def test_block_sizes_are_those_of_the_gguf_package(kind: gguf.GGMLQuantizationType) -> None:
    format = FORMATS[int(kind)]
    assert (format.values, format.bytes) == gguf.GGML_QUANT_SIZES[kind]


def test_size_of() -> None:
    assert FORMATS_BY_NAME["q6_k"].size_of(3 * 256) == 630
    with pytest.raises(ValueError, match="q6_k stores 256 values a block, got 257"):
        FORMATS_BY_NAME["q6_k"].size_of(257)
