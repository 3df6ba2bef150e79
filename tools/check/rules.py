"""The project's own rules on its files: sizes, and no trace of the machine it was made on."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import tomllib

from check.files import tracked
from setup.paths import ROOT

LONGEST = 400
_CODE = {".py", ".gd", ".c", ".h", ".comp", ".glsl", ".glslh", ""}
_TEXT = _CODE | {".md", ".toml", ".cfg", ".godot", ".tscn", ".json", ".txt", ".yml", ".gdextension"}
_MACHINE_PATH = re.compile(r"(?<![\w./~$}\]])/(?:root|home|work|tmp)/[A-Za-z0-9_.]")
_REGISTRY = re.compile(
    r"\b(?:pypi\.org|pythonhosted\.org|debian\.org/debian|snapshot\.debian\.org|ubuntu\.com/ubuntu"
    r"|npmjs\.(?:org|com)|crates\.io|huggingface\.co)\b"
)


def long_files(lines: dict[str, int], excused: dict[str, str]) -> Iterator[str]:
    """Complaints about files over the limit without an excuse, and about stale excuses."""
    for name, count in sorted(lines.items()):
        if count > LONGEST and name not in excused:
            yield f"{name}: {count} lines, {LONGEST} at most; see tool.llm.long-files"
    for name in sorted(excused):
        if lines.get(name, 0) <= LONGEST:
            yield f"{name}: excused in tool.llm.long-files, but it is not too long"


def traces(name: str, text: str) -> Iterator[str]:
    """Complaints about absolute paths of some machine and addresses of registries."""
    for number, line in enumerate(text.splitlines(), start=1):
        for pattern, what in ((_MACHINE_PATH, "a machine's path"), (_REGISTRY, "a registry")):
            match = pattern.search(line)
            if match is not None:
                yield f"{name}:{number}: names {what}: {match[0]}"


def main() -> int:
    """Prints every complaint; returns 1 when there is one."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    excused = settings.get("tool", {}).get("llm", {}).get("long-files", {})
    texts = {
        path: (ROOT / path).read_text(encoding="utf-8")
        for path in tracked()
        if Path(path).suffix in _TEXT
    }
    counts = {path: text.count("\n") for path, text in texts.items() if Path(path).suffix in _CODE}
    complaints = list(long_files(counts, excused))
    for path, text in texts.items():
        complaints += traces(path, text)
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
