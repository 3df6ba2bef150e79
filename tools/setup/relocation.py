"""Making unpacked Debian programs run from a private folder, beside another C library.

Each library finds its neighbours through `$ORIGIN`; the programs name the folder's own dynamic
linker. So nothing has to be set in the environment, nothing leaks into other programs, and the
engine still knows its own path.
"""

import concurrent.futures
import subprocess
from collections.abc import Iterable
from pathlib import Path

from setup.report import SetupError

LIBRARY_PATH = "$ORIGIN:$ORIGIN/pulseaudio:$ORIGIN/.."
LINKER = "ld-linux-x86-64.so.2"


def is_elf(path: Path) -> bool:
    """True for a program or library, not for links, scripts and data."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def relocate_libraries(patchelf: Path, folder: Path) -> None:
    """Lets all libraries under `folder` find each other; the dynamic linker stays as it is."""
    libraries = [path for path in folder.rglob("*") if path.name != LINKER and is_elf(path)]
    _patch(patchelf, ["--force-rpath", "--set-rpath", LIBRARY_PATH], libraries)


def relocate_programs(patchelf: Path, programs: Iterable[Path], library_folder: Path) -> None:
    """Ties the programs to the dynamic linker and the libraries of `library_folder`, an absolute
    path, so that a copy of a program (an exported game) runs from anywhere."""
    options = ["--set-interpreter", str(library_folder / LINKER)]
    options += ["--force-rpath", "--set-rpath", str(library_folder)]
    _patch(patchelf, options, list(programs))


def _patch(patchelf: Path, options: list[str], paths: list[Path]) -> None:
    def patch(path: Path) -> None:
        result = subprocess.run(
            [str(patchelf), *options, str(path)], capture_output=True, text=True, check=False
        )
        if result.returncode != 0:
            raise SetupError(f"patchelf {path.name}: {result.stderr.strip()}")

    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        for _ in pool.map(patch, paths):
            pass
