"""float32 -> Q4_K blocks.

A block holds 256 values in 8 groups of 32: value = d * scale * q - dmin * minimum, with q from 0 to
15, the group's scale and minimum of 6 bits, and d and dmin of the block in float16. For each group
some slopes are tried: values are rounded with one, the scale and minimum that fit the rounded
values best are found by least squares, and the best of all is kept. Errors of large values count
more, as they do in llama.cpp's quantiser, whose choice of weights this follows.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]

BLOCK, GROUP = 256, 32
_GROUPS = BLOCK // GROUP
_LARGEST = 15  # of q
_LARGEST_SCALE = 63
MOST = 65504.0  # of float16; scales could reach further, and no model's weights do
_EVEN = 1e-5  # a share that rounding may leave of a determinant
_TINY = 1e-10  # float16 ends at 6e-8
# Steps that the range of a group is cut into, near the 15 that it has.
_SLOPES = (14.1, 14.4, 14.7, 15.0, 15.3, 15.6, 15.9)


def quantize_q4_k(values: Floats) -> Bytes:
    """Blocks of 144 bytes, (count / 256 * 144,). `values` are whole blocks, none beyond MOST."""
    groups = np.ascontiguousarray(values, np.float32).reshape(-1, GROUP)  # (groups, 32)
    scale, low = _fit(groups)  # (groups,) each
    scales, lows = scale.reshape(-1, _GROUPS), low.reshape(-1, _GROUPS)  # (blocks, 8)
    d, scale_codes = _six_bits(scales)  # (blocks,), (blocks, 8)
    d_min, low_codes = _six_bits(lows)
    step = d.astype(np.float32)[:, None] * scale_codes  # (blocks, 8)
    offset = d_min.astype(np.float32)[:, None] * low_codes
    codes = _codes(groups, step.reshape(-1), offset.reshape(-1)).reshape(-1, 4, 2, GROUP)
    blocks = np.empty((len(scales), 144), np.uint8)
    blocks[:, 0:2] = d.view(np.uint8).reshape(-1, 2)
    blocks[:, 2:4] = d_min.view(np.uint8).reshape(-1, 2)
    blocks[:, 4:16] = _packed_scales(scale_codes, low_codes)
    blocks[:, 16:] = (codes[:, :, 0] | codes[:, :, 1] << 4).reshape(-1, 128)
    return blocks.reshape(-1)


def _fit(groups: Floats) -> tuple[Floats, Floats]:
    """A scale and what it is lowered by, neither below 0, for each group."""
    low = np.minimum(groups.min(axis=1), 0.0)  # (groups,)
    span = groups.max(axis=1) - low
    square = np.einsum("gi,gi->g", groups, groups) / GROUP
    weights = np.abs(groups)  # (groups, 32)
    weights += np.sqrt(square)[:, None]
    weighted = weights * groups
    sum_w, sum_x = weights.sum(axis=1), weighted.sum(axis=1)
    shifted = groups - low[:, None]
    best = np.full(len(groups), np.inf, np.float32)
    best_scale, best_low = span / _LARGEST, 0 - low  # not -0
    codes = np.empty_like(groups)
    for slope in _SLOPES:
        np.multiply(shifted, _inverse(span, slope)[:, None], out=codes)
        np.rint(codes, out=codes)
        np.minimum(codes, _LARGEST, out=codes)
        scaled = weights * codes
        sum_l = scaled.sum(axis=1)
        sum_ll = np.einsum("gi,gi->g", scaled, codes)
        sum_lx = np.einsum("gi,gi->g", weighted, codes)
        determinant = sum_w * sum_ll - sum_l * sum_l
        is_sound = determinant > _EVEN * sum_w * sum_ll  # else all are rounded alike
        divisor = np.where(is_sound, determinant, 1.0)
        scale = (sum_w * sum_lx - sum_x * sum_l) / divisor
        offset = (sum_ll * sum_x - sum_l * sum_lx) / divisor
        # A minimum above 0 cannot be stored.
        alone = offset > 0
        scale = np.where(alone, sum_lx / np.where(sum_ll > 0, sum_ll, 1.0), scale)
        offset = np.where(alone, 0.0, offset)
        # The weighted squared error, less the sum of the values' own squares.
        error = scale * (scale * sum_ll + 2 * offset * sum_l - 2 * sum_lx)
        error += offset * (offset * sum_w - 2 * sum_x)
        is_better = is_sound & (error < best) & (scale > 0)
        best = np.where(is_better, error, best)
        best_scale = np.where(is_better, scale, best_scale)
        best_low = np.where(is_better, -offset, best_low)
    return best_scale.astype(np.float32), best_low.astype(np.float32)


def _six_bits(values: Floats) -> tuple[NDArray[np.float16], Bytes]:
    """What the numbers of each block are multiples of, (blocks,), and which, (blocks, 8)."""
    unit = (values.max(axis=1) / _LARGEST_SCALE).astype(np.float16)
    multiples = values * _inverse(unit.astype(np.float32), 1.0)[:, None]
    return unit, np.rint(multiples).clip(max=_LARGEST_SCALE).astype(np.uint8)


def _codes(groups: Floats, step: Floats, offset: Floats) -> Bytes:
    codes = (groups + offset[:, None]) * _inverse(step, 1.0)[:, None]
    rounded: Bytes = np.rint(codes).clip(0, _LARGEST).astype(np.uint8)
    return rounded


def _inverse(numbers: Floats, times: float) -> Floats:
    """times / numbers; 0 where these are as good as 0."""
    is_number = numbers > _TINY
    return np.where(is_number, np.float32(times) / np.where(is_number, numbers, 1), 0)


def _packed_scales(scales: Bytes, lows: Bytes) -> Bytes:
    """Two times 8 numbers of 6 bits in 12 bytes: (blocks, 12)."""
    packed = np.empty((len(scales), 12), np.uint8)
    packed[:, 0:4] = scales[:, :4] | scales[:, 4:] >> 4 << 6
    packed[:, 4:8] = lows[:, :4] | lows[:, 4:] >> 4 << 6
    packed[:, 8:] = scales[:, 4:] & 15 | (lows[:, 4:] & 15) << 4
    return packed
