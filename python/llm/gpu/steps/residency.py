"""How many groups of the steps kernel stay resident on a device, found by trying it out."""

from collections.abc import Callable

PROBE_STEPS = 8  # barriers at which groups have to meet
PROBE_SPINS = 20_000  # looks at a barrier, some milliseconds
SPINS = 1_000_000  # more than half a second where a look takes 0.6 us: no step takes that long
MOST_GROUPS = 1024  # more than the multiprocessors of any GPU so far


def resident_groups(meet: Callable[[int], bool], most: int = MOST_GROUPS) -> int:
    """The most groups that run at the same time; `meet(n)` says whether n of them all met.

    0 where not even two do. Doubles until they do not meet, then halves the gap: 17 tries at most.
    """
    if not meet(2):
        return 0
    sure, failed = 2, most + 1
    while sure * 2 < failed and meet(sure * 2):
        sure *= 2
    failed = min(failed, sure * 2)
    while failed - sure > 1:
        middle = (sure + failed) // 2
        if meet(middle):
            sure = middle
        else:
            failed = middle
    return sure
