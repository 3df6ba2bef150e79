"""The grids of block formats whose weights come as numbers of entries.

An entry is what four or eight weights are, but for a scale and signs; docs/decisions/0027 says why
kernels read grids from memory. The gguf package has them.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

TERNARY = ("iq1_s", "iq1_m")  # entries of -1, 0 and 1, stored as 0, 8 and 16: see dequant_iq1.glslh
GRIDS = ("iq2_xxs", "iq2_xs", "iq2_s", "iq3_xxs", "iq3_s", *TERNARY)


@cache
def grids(format_name: str) -> tuple[NDArray[np.uint32], ...]:
    """The grid of a format, a byte a weight, four a word; none for a format without.

    Its size is a multiple of four words.
    """
    if format_name not in GRIDS:
        return ()
    from gguf import quants  # a moment, which other formats need not wait

    kind = getattr(quants, format_name.upper())
    kind.init_grid()
    values = kind.grid.reshape(-1)
    if format_name in TERNARY:
        values = 8 * (values + 1)
    return (np.ascontiguousarray(values.astype(np.uint8)).view(np.uint32),)
