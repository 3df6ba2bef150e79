"""Planes hold every byte of the blocks; unpacked by another road, they give gguf's values."""

import gguf
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sample_gguf import random_blocks

from llm.errors import UnsupportedModelError
from llm.files.formats import FORMATS_BY_NAME
from llm.files.grids import GRIDS, TERNARY
from llm.files.repack import (
    PIECE_BLOCKS,
    PLANES,
    check_packable,
    pack,
    pack_into,
    plane_words,
)


def halves(plane: np.ndarray, count: int) -> np.ndarray:
    """The float16 numbers of a plane, two a word, low half first."""
    words = plane[: (count + 1) // 2].astype(np.uint64)
    pairs = np.stack([words & 0xFFFF, words >> 16], axis=1).astype(np.uint16)
    return pairs.reshape(-1)[:count].view(np.float16).astype(np.float32)


def bytes_of(plane: np.ndarray, words: int) -> np.ndarray:
    """The bytes of the first words, lowest first, as a kernel extracts them: (words, 4)."""
    shifts = np.arange(4, dtype=np.uint32) * 8
    return ((plane[:words, None] >> shifts) & 0xFF).astype(np.uint8)


def unpack_f32(planes: list[np.ndarray], blocks: int) -> np.ndarray:
    return planes[0][:blocks].view(np.float32)


def unpack_f16(planes: list[np.ndarray], blocks: int) -> np.ndarray:
    return halves(planes[0], blocks)


def unpack_q8_0(planes: list[np.ndarray], blocks: int) -> np.ndarray:
    quants = bytes_of(planes[0], blocks * 8).view(np.int8).reshape(blocks, 32)
    return quants.astype(np.float32) * halves(planes[1], blocks)[:, None]


def unpack_q5_0(planes: list[np.ndarray], blocks: int) -> np.ndarray:
    nibbles = bytes_of(planes[0], blocks * 4).reshape(blocks, 16)
    low = np.concatenate([nibbles & 15, nibbles >> 4], axis=1)  # (blocks, 32)
    high = (planes[1][:blocks, None] >> np.arange(32, dtype=np.uint32)) & 1
    quants = (low + 16 * high.astype(np.float32)) - 16
    return quants * halves(planes[2], blocks)[:, None]


def unpack_q4_k(planes: list[np.ndarray], blocks: int) -> np.ndarray:
    words = planes[0][: blocks * 36].reshape(blocks, 36)
    d = halves(np.ascontiguousarray(words[:, 0]), 2 * blocks).reshape(blocks, 2)
    scales = bytes_of(np.ascontiguousarray(words[:, 1:4]).reshape(-1), 3 * blocks)
    scales = scales.reshape(blocks, 12)
    out = np.empty((blocks, 8, 32), np.float32)
    quants = bytes_of(np.ascontiguousarray(words[:, 4:]).reshape(-1), 32 * blocks)
    quants = quants.reshape(blocks, 4, 32)
    for group in range(8):
        if group < 4:
            scale, least = scales[:, group] & 63, scales[:, group + 4] & 63
        else:
            scale = (scales[:, group + 4] & 15) | (scales[:, group - 4] >> 6 << 4)
            least = (scales[:, group + 4] >> 4) | (scales[:, group] >> 6 << 4)
        nibbles = quants[:, group // 2] >> (4 * (group % 2)) & 15
        with np.errstate(invalid="ignore"):
            scaled = (d[:, 0] * scale)[:, None] * nibbles
            out[:, group] = scaled - (d[:, 1] * least)[:, None]
    return out


def unpack_q6_k(planes: list[np.ndarray], blocks: int) -> np.ndarray:
    low = bytes_of(planes[0], blocks * 32).reshape(blocks, 2, 2, 32)  # half, plane pair, position
    high = bytes_of(planes[1], blocks * 16).reshape(blocks, 2, 32)
    scales = bytes_of(planes[2], blocks * 4).view(np.int8).reshape(blocks, 16)
    quants = np.empty((blocks, 2, 4, 32), np.float32)
    for quarter in range(4):
        nibbles = low[:, :, quarter % 2] >> (4 * (quarter // 2)) & 15
        quants[:, :, quarter] = (nibbles | (high >> (2 * quarter) & 3) << 4).astype(np.float32) - 32
    scale = halves(planes[3], blocks)[:, None] * scales
    return quants.reshape(blocks, 16, 16) * scale[:, :, None]


UNPACK = {
    "f32": unpack_f32,
    "f16": unpack_f16,
    "q8_0": unpack_q8_0,
    "q5_0": unpack_q5_0,
    "q4_k": unpack_q4_k,
    "q6_k": unpack_q6_k,
}


def expected(format: str, data: np.ndarray) -> np.ndarray:
    # Random f32 words may be signalling NaN, and d * q may overflow to infinity: both are fine.
    with np.errstate(all="ignore"):
        kind = gguf.GGMLQuantizationType[format.upper()]
        if format == "f32":
            return data.view(np.float32)
        return gguf.quants.dequantize(data, kind).reshape(-1)


def check(format: str, data: np.ndarray, blocks: int) -> None:
    planes = pack(data, FORMATS_BY_NAME[format], blocks)
    with np.errstate(all="ignore"):
        found = UNPACK[format](planes, blocks).reshape(-1)
    np.testing.assert_array_equal(found, expected(format, data))


def test_formats_that_gguf_expands_have_planes() -> None:
    """All but one that only exists while a model runs."""
    expanded = {kind.name.lower() for kind in gguf.quants._type_traits}
    assert set(PLANES) == expanded | {"f32", "f16"}


@pytest.mark.parametrize("format", PLANES)
@pytest.mark.parametrize("blocks", [1, 2, 3, 61])
def test_parts_put_together_are_the_blocks(format: str, blocks: int) -> None:
    kind = FORMATS_BY_NAME[format]
    data = random_blocks(format, blocks, seed=blocks)
    found = np.zeros((blocks, kind.bytes), np.uint8)
    planes = pack(data, kind, blocks)[: len(PLANES[format])]
    for part, plane in zip(PLANES[format], planes, strict=True):
        stored = plane.view(np.uint8)[: blocks * part.size].reshape(blocks, part.size)
        found[:, part.start : part.start + part.size] = stored
    np.testing.assert_array_equal(found.reshape(-1), data)


@pytest.mark.parametrize("format", PLANES)
def test_a_grid_is_the_last_plane(format: str) -> None:
    kind = FORMATS_BY_NAME[format]
    planes = pack(random_blocks(format, 3), kind, 3)
    assert tuple(len(plane) for plane in planes) == plane_words(kind, 3 * kind.values)
    assert len(planes) <= 4  # that kernels take
    found = planes[len(PLANES[format]) :]
    assert len(found) == (format in GRIDS)
    for grid in found:
        assert grid.nbytes % 16 == 0
        of_gguf = getattr(gguf.quants, format.upper()).grid.reshape(-1)
        values = grid.view(np.uint8).astype(np.float32)
        assert np.array_equal(values / 8 - 1 if format in TERNARY else values, of_gguf)


@pytest.mark.parametrize("format", UNPACK)
@pytest.mark.parametrize("blocks", [1, 2, 3, 7, 61, 257])
def test_random_blocks_keep_their_values(format: str, blocks: int) -> None:
    check(format, random_blocks(format, blocks, seed=blocks), blocks)


@pytest.mark.parametrize("format", UNPACK)
@pytest.mark.parametrize("byte", [0x00, 0x01, 0x7B, 0x80, 0xFF])
def test_blocks_of_one_byte_value_keep_their_values(format: str, byte: int) -> None:
    size = FORMATS_BY_NAME[format].bytes
    check(format, np.full(5 * size, byte, np.uint8), 5)


@settings(max_examples=60, deadline=None)
@given(
    format=st.sampled_from(list(UNPACK)),
    blocks=st.integers(1, 40),
    seed=st.integers(0, 2**32 - 1),
    shift=st.integers(0, 5),
)
def test_any_blocks_at_any_address_keep_their_values(
    format: str, blocks: int, seed: int, shift: int
) -> None:
    data = random_blocks(format, blocks, seed)
    moved = np.concatenate([np.zeros(shift, np.uint8), data])[shift:]
    check(format, moved, blocks)


@pytest.mark.parametrize("format", PLANES)
@pytest.mark.parametrize("blocks", [0, 1, 2, 5, 63])
def test_planes_are_padded_to_16_bytes_with_zeros(format: str, blocks: int) -> None:
    kind = FORMATS_BY_NAME[format]
    planes = pack(np.full(blocks * kind.bytes, 0xFF, np.uint8), kind, blocks)
    for part, plane in zip(PLANES[format], planes, strict=False):
        used = part.size * blocks
        assert plane.nbytes % 16 == 0
        assert 0 <= plane.nbytes - used < 16
        assert (plane.view(np.uint8)[:used] == 0xFF).all()
        assert not plane.view(np.uint8)[used:].any()


@pytest.mark.parametrize("format", PLANES)
def test_the_parts_take_each_byte_of_a_block_once(format: str) -> None:
    places = [
        place for part in PLANES[format] for place in range(part.start, part.start + part.size)
    ]
    assert sorted(places) == list(range(FORMATS_BY_NAME[format].bytes))


@pytest.mark.parametrize("format", PLANES)
def test_pieces_make_the_same_planes(format: str) -> None:
    kind, blocks, piece = FORMATS_BY_NAME[format], 21, 2 * PIECE_BLOCKS
    data = random_blocks(format, blocks, seed=1)
    whole = pack(data, kind, blocks)[: len(PLANES[format])]
    joined = [np.full_like(plane, 0xDEADBEEF) for plane in whole]
    for first in range(0, blocks, piece):
        count = min(piece, blocks - first)
        ends = [-(-part.size * (first + count) // 4) for part in PLANES[format]]
        starts = [part.size * first // 4 for part in PLANES[format]]
        last = first + count == blocks
        views = [
            plane[start : None if last else end]
            for plane, start, end in zip(joined, starts, ends, strict=True)
        ]
        pack_into(data[first * kind.bytes : (first + count) * kind.bytes], kind, views)
    for plane, expected_plane in zip(joined, whole, strict=True):
        np.testing.assert_array_equal(plane, expected_plane)


def test_memory_of_another_owner_is_filled_in_place() -> None:
    memory = bytearray(b"\xaa" * 200)
    view = np.frombuffer(memory, np.uint32)
    pack_into(random_blocks("q8_0", 4), FORMATS_BY_NAME["q8_0"], [view[4:36], view[36:40]])
    assert memory[:16] == b"\xaa" * 16
    assert memory[160:] == b"\xaa" * 40
    assert memory[16:48] == bytes(random_blocks("q8_0", 4)[2:34])


@pytest.mark.parametrize(
    ("size", "words", "message"),
    [
        pytest.param(33, (8, 4), "33 bytes are not whole q8_0 blocks", id="half a block"),
        pytest.param(68, (15, 4), "needs 64 bytes of uint32, got 60", id="a plane too small"),
        pytest.param(68, (16,), "shorter", id="a plane missing"),
    ],
)
def test_sizes_that_do_not_match_raise(size: int, words: tuple[int, ...], message: str) -> None:
    planes = [np.zeros(count, np.uint32) for count in words]
    with pytest.raises(ValueError, match=message):
        pack_into(np.zeros(size, np.uint8), FORMATS_BY_NAME["q8_0"], planes)


def test_a_format_without_planes_is_named_with_those_that_have_them() -> None:
    check_packable("m.gguf", "blk.0.ffn_up.weight", FORMATS_BY_NAME["q4_k"])
    with pytest.raises(UnsupportedModelError) as caught:
        check_packable("m.gguf", "blk.0.ffn_up.weight", FORMATS_BY_NAME["q8_1"])
    assert str(caught.value) == (
        "m.gguf: format of tensor 'blk.0.ffn_up.weight' is 'q8_1'; this build runs bf16, f16, f32, "
        "iq1_m, iq1_s, iq2_s, iq2_xs, iq2_xxs, iq3_s, iq3_xxs, iq4_nl, iq4_xs, mxfp4, nvfp4, q2_k, "
        "q3_k, q4_0, q4_1, q4_k, q5_0, q5_1, q5_k, q6_k, q8_0, tq1_0, tq2_0"
    )
