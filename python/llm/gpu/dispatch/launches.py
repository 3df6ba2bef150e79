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
PICKED = (NONE, NONE)  # in place of a list: the state's picks
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
    """Floats of the work buffer that argmax_stages needs for a row."""
    return 2 * ceil_div(count, ARGMAX_CHUNK)


def argmax_stages(values: int, count: int, scratch: int, rows: int = 1) -> list[SearchStage]:
    """The largest of `count` floats of each row, from `values` on, goes to the state's picks."""
    groups, own = ceil_div(count, ARGMAX_CHUNK), argmax_scratch(count)
    first = {"values": values, "ids": NONE, "count": count, "chunk": ARGMAX_CHUNK}
    first["in_stride"] = count
    if groups == 1:
        return [_stage("argmax", first, PICKED, 1, 1, rows)]
    last = {"values": scratch, "ids": scratch + groups, "count": groups, "chunk": groups}
    last["in_stride"] = own
    return [
        _stage("argmax", first, (scratch, scratch + groups), own, groups, rows),
        _stage("argmax", last, PICKED, 1, 1, rows),
    ]


def top_k_scratch(count: int, k: int) -> int:
    """Floats of the work buffer that top_k_stages needs for a row."""
    return SEGMENTS + 2 * k + 4 * ceil_div(count, TOP_K_CHUNK) * k


def top_k_stages(values: int, count: int, k: int, scratch: int, rows: int = 1) -> list[SearchStage]:
    """The k largest of `count` floats of each row, from `values` on, go to the state's picks, best
    first, row by row.

    Where k exceeds `count`, picks with the id NONE follow. A list of more than one chunk is first
    cut down: to what reaches the k-th largest of the maxima of SEGMENTS parts.
    """
    if not 1 <= k <= MAX_PICKS:
        raise ValueError(f"top_k of {k}; kernels pick 1 to {MAX_PICKS}")
    own = top_k_scratch(count, k)

    def top_k(
        source: tuple[int, int], size: int, threshold: int, target: tuple[int, int]
    ) -> SearchStage:
        """The list `source` of `size` entries, values and ids, is cut down to `target`."""
        params = {"values": source[0], "ids": source[1], "count": size, "k": k}
        params |= {"threshold": threshold, "threshold_stride": own}
        params["in_stride"] = count if source[0] == values else own
        stride = k if target == PICKED else own
        return _stage("top_k", params, target, stride, ceil_div(size, TOP_K_CHUNK), rows)

    if count <= TOP_K_CHUNK:
        return [top_k((values, NONE), count, NONE, PICKED)]
    maxima, bounds = scratch, scratch + SEGMENTS
    segment = {"values": values, "count": count, "n_segments": SEGMENTS, "maxima": maxima}
    segment |= {"in_stride": count, "out_stride": own}
    stages = [
        SearchStage("segment_max", segment, thread_groups("segment_max", SEGMENTS, rows)),
        top_k((maxima, NONE), SEGMENTS, NONE, (bounds, bounds + k)),
    ]
    threshold = bounds + k - 1
    lists = bounds + 2 * k, bounds + 2 * k + 2 * ceil_div(count, TOP_K_CHUNK) * k  # used in turn
    source, size = (values, NONE), count
    while size > TOP_K_CHUNK:
        target, kept = lists[len(stages) % 2], ceil_div(size, TOP_K_CHUNK) * k
        stages.append(top_k(source, size, threshold, (target, target + kept)))
        source, size = (target, target + kept), kept
    return [*stages, top_k(source, size, threshold, PICKED)]


def _stage(
    kernel: str,
    params: dict[str, int],
    target: tuple[int, int],
    out_stride: int,
    groups: int,
    rows: int,
) -> SearchStage:
    out = {"out_values": target[0], "out_ids": target[1], "out_stride": out_stride}
    return SearchStage(kernel, {**params, **out}, (groups, rows, 1))


def ceil_div(value: int, divisor: int) -> int:
    return -(-value // divisor)
