"""Which kernels are compiled in tests: what a format adds to one does not depend on tile sizes."""

from collections.abc import Iterable

from llm.gpu.kernels.variants import KERNELS

EVERY_SIZE = (None, "f16", "q6_k")  # formats whose kernels are compiled in all sizes

# Starts of the names of kernels for devices that a probe has shown to be fit.
PROBED = (
    "columns_",
    "steps",
    "probe_subgroups",
    "probe_fragments",
    "probe_matrices_",
    "probe_lanes",
    "matmul_few_",
    "matmul_matrix_",
    "attend_lanes",
    "matvec_lanes_",
    "attend_matrices_",
)
BEYOND_BASELINE = {"WEIGHT_ADDRESSES", "HAS_INTEGER_DOT"}  # defines


def is_baseline(name: str) -> bool:
    """Whether the kernel has to run on every device that Godot computes on."""
    return not name.startswith(PROBED) and not BEYOND_BASELINE & KERNELS[name].defines.keys()


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
