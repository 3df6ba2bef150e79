"""The add-on as a file: a zip that others unpack into their projects."""

import configparser
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from setup.paths import ADDON, ADDON_BIN, ROOT
from shipping import bytecode

# Of the checkout's addons/llm: sources in C, and what was built, of which only games' part ships.
_LEFT_OUT = ("native", "bin")
_DOCUMENTS = ("LICENSE", "CHANGELOG.md")
_LEVEL = 9


def version() -> str:
    """The project's version, whose one place is the add-on's plugin.cfg."""
    parser = configparser.ConfigParser()
    parser.read(ADDON / "plugin.cfg", encoding="utf-8")
    return parser["plugin"]["version"].strip('"')


def pack(target: Path) -> None:
    """Writes the zip, in which everything is in addons/llm."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.partial")
    # Godot does not look into folders that begin with a dot.
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".") as scratch:
        for name, source in _contents():
            place = Path(scratch) / "addons" / "llm" / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, place)
        bytecode.archive(Path(scratch), partial, _LEVEL)
    partial.replace(target)


def sources() -> list[Path]:
    """What of the zip lies in the checkout as it is."""
    own = [path for path in sorted(ADDON.rglob("*")) if path.is_file()]
    own = [path for path in own if path.relative_to(ADDON).parts[0] not in _LEFT_OUT]
    return own + [ROOT / name for name in _DOCUMENTS]


def _contents() -> Iterator[tuple[Path, Path]]:
    """Places below addons/llm, and what lies there."""
    for path in sources():
        yield path.relative_to(ADDON if ADDON in path.parents else ROOT), path
    for path in sorted([*ADDON_BIN.glob("libllm.*"), *ADDON_BIN.glob("llm.*/**/*")]):
        if path.is_file():
            yield path.relative_to(ADDON), path
