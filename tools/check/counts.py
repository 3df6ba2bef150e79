"""How many tests passed and failed, from what their runner printed."""

import re
from dataclasses import dataclass

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_COUNT = re.compile(r"(\d+) (passed|failed|errors?|skipped|xfailed|xpassed)\b")
_PYTEST_CLOSING = re.compile(r"\d+ [a-z]+.* in [0-9.]+s")
_PLAIN_CLOSING = re.compile(r"^\d+ passed, \d+ failed$")


@dataclass(frozen=True)
class Counts:
    """Results of one group; an expected failure counts as passed, an error as failed."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped
        )

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed"


def read_counts(output: str) -> Counts:
    """Finds the last closing line: pytest's, or a plain `N passed, N failed`."""
    for line in reversed(_COLOUR.sub("", output).splitlines()):
        text = line.strip()
        if _PYTEST_CLOSING.search(text) or _PLAIN_CLOSING.match(text):
            found = {name: int(number) for number, name in _COUNT.findall(text)}
            return Counts(
                passed=found.get("passed", 0) + found.get("xfailed", 0),
                failed=sum(found.get(name, 0) for name in ("failed", "error", "errors", "xpassed")),
                skipped=found.get("skipped", 0),
            )
    return Counts()


def judge(counts: Counts, status: int, *, may_be_empty: bool = False) -> tuple[Counts, str]:
    """What a group's counts and exit status mean together; the text is empty when all is well."""
    if counts.failed:
        return counts, "failed"
    if not counts.passed:
        if may_be_empty and status in (0, 1, 5):
            return counts, ""
        return counts + Counts(failed=1), f"no test ran (status {status})"
    if status != 0:
        return counts + Counts(failed=1), f"the runner ended with status {status}"
    return counts, ""
