"""Which kernels are compiled in tests: what a format adds to one does not depend on tile sizes."""

from collections.abc import Iterable

from llm.gpu.kernels.variants import KERNELS

EVERY_SIZE = (None, "f16", "q6_k")  # formats whose kernels are compiled in all sizes


def samples(names: Iterable[str]) -> list[str]:
    """Of the kernels, those of a few formats, and of other formats one of each source."""
    found, seen = [], set()
    for name in names:
        kernel = KERNELS[name]
        key = kernel.source, kernel.defines.get("FORMAT")
        if key[1] in EVERY_SIZE or key not in seen:
            found.append(name)
            seen.add(key)
    return found
