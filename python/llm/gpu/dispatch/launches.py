"""Which kernel variant computes an operation, with which parameters and on how many groups.

Offsets are in floats of the work buffer. Counts that are known only at run time stand in the state
buffer; groups are for the most that may come.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from llm.gpu.kernels.variants import KERNELS, TOP_K_CHUNK
from llm.gpu.state import MAX_PICKS, NONE

Groups = tuple[int, int, int]

PART_WEIGHTS = 32  # weights that are decoded together; every width is a multiple
ARGMAX_CHUNK = 4096
SEGMENTS = TOP_K_CHUNK  # parts of a list, by whose maxima it is cut down


@dataclass(frozen=True, slots=True)
class SearchStage:
    """One dispatch of a search for the largest values; each stage reads what the last one wrote."""

    kernel: str
    params: Mapping[str, int]
    groups: Groups


def thread_groups(kernel: str, threads: int, rows: int = 1) -> Groups:
    """For kernels with one thread for a value, word or part of each row."""
    return (ceil_div(threads, KERNELS[kernel].group_size), rows, 1)


def embed_groups(format_name: str, width: int, rows: int) -> Groups:
    return thread_groups(f"embed_{format_name}", width // PART_WEIGHTS, rows)


def argmax_scratch(count: int) -> int:
    """Floats of the work buffer that argmax_stages needs."""
    return 2 * ceil_div(count, ARGMAX_CHUNK)


def argmax_stages(values: int, count: int, scratch: int) -> list[SearchStage]:
    """The largest of `count` floats at `values` goes to the state's first pick."""
    groups = ceil_div(count, ARGMAX_CHUNK)
    first = {"values": values, "ids": NONE, "count": count, "chunk": ARGMAX_CHUNK}
    if groups == 1:
        return [_stage("argmax", first, NONE, NONE, 1)]
    last = {"values": scratch, "ids": scratch + groups, "count": groups, "chunk": groups}
    return [
        _stage("argmax", first, scratch, scratch + groups, groups),
        _stage("argmax", last, NONE, NONE, 1),
    ]


def top_k_scratch(count: int, k: int) -> int:
    """Floats of the work buffer that top_k_stages needs."""
    return SEGMENTS + 2 * k + 4 * ceil_div(count, TOP_K_CHUNK) * k


def top_k_stages(values: int, count: int, k: int, scratch: int) -> list[SearchStage]:
    """The k largest of `count` floats at `values` go to the state's picks, best first.

    Where k exceeds `count`, picks with the id NONE follow. A list of more than one chunk is first
    cut down: to what reaches the k-th largest of the maxima of SEGMENTS parts.
    """
    if not 1 <= k <= MAX_PICKS:
        raise ValueError(f"top_k of {k}; kernels pick 1 to {MAX_PICKS}")
    if count <= TOP_K_CHUNK:
        return [_top_k(values, NONE, count, k, NONE, NONE, NONE)]
    maxima, bounds = scratch, scratch + SEGMENTS
    segment = {"values": values, "count": count, "n_segments": SEGMENTS, "maxima": maxima}
    stages = [
        SearchStage("segment_max", segment, thread_groups("segment_max", SEGMENTS)),
        _top_k(maxima, NONE, SEGMENTS, k, NONE, bounds, bounds + k),
    ]
    threshold = bounds + k - 1
    lists = bounds + 2 * k, bounds + 2 * k + 2 * ceil_div(count, TOP_K_CHUNK) * k  # used in turn
    source, ids, n = values, NONE, count
    while n > TOP_K_CHUNK:
        target, kept = lists[len(stages) % 2], ceil_div(n, TOP_K_CHUNK) * k
        stages.append(_top_k(source, ids, n, k, threshold, target, target + kept))
        source, ids, n = target, target + kept, kept
    return [*stages, _top_k(source, ids, n, k, threshold, NONE, NONE)]


def _top_k(
    values: int, ids: int, count: int, k: int, threshold: int, out_values: int, out_ids: int
) -> SearchStage:
    params = {"values": values, "ids": ids, "count": count, "k": k, "threshold": threshold}
    return _stage("top_k", params, out_values, out_ids, ceil_div(count, TOP_K_CHUNK))


def _stage(
    kernel: str, params: dict[str, int], out_values: int, out_ids: int, groups: int
) -> SearchStage:
    return SearchStage(
        kernel, {**params, "out_values": out_values, "out_ids": out_ids}, (groups, 1, 1)
    )


def ceil_div(value: int, divisor: int) -> int:
    return -(-value // divisor)
