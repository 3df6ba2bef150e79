"""`./llm test [GROUP…] [-- PYTEST ARGUMENTS…]`."""

import time
from collections.abc import Sequence

from check.counts import Counts, judge
from check.groups import GROUPS, chosen
from setup.main import exclusive
from setup.report import say


def main(words: Sequence[str]) -> int:
    """Runs the groups in their own order; 0 when all passed, 1 when not, 2 for bad arguments."""
    names, extra = _split(words)
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        say(f"there is no group '{unknown[0]}'; the groups are {', '.join(GROUPS)}")
        return 2
    groups = chosen(names)
    with exclusive():
        for group in groups:
            group.prepare()
    total = Counts()
    rows: list[str] = []
    for group in groups:
        print(f"\n== {group.name}", flush=True)
        started = time.monotonic()
        counts, complaint = judge(*group.run(extra), may_be_empty=bool(extra) and len(groups) > 1)
        total += counts
        skipped = f", {counts.skipped} skipped" if counts.skipped else ""
        note = f"   {complaint}" if complaint else ""
        seconds = time.monotonic() - started
        rows.append(f"  {group.name:<9} {seconds:6.1f} s   {counts}{skipped}{note}")
    print("\n== summary")
    print("\n".join(rows))
    print(total, flush=True)
    return 0 if total.passed and not total.failed else 1


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    if "--" not in words:
        return list(words), []
    at = list(words).index("--")
    return list(words[:at]), list(words[at + 1 :])
