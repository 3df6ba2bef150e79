"""Python sources -> compiled modules without their sources, in folders and in archives."""

import py_compile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from setup.report import SetupError

# Of archives, so that equal contents are equal bytes; the oldest that the format knows.
_TIME = (1980, 1, 1, 0, 0, 0)


def compile_files(files: Mapping[str, Path], target: Path, shown_as: str) -> None:
    """Compiles sources into `target`, each at its name there, such as `godot/api.py`.

    Tracebacks show them at that name below `shown_as`. Imports do not look for the sources.
    """
    for name, source in files.items():
        try:
            py_compile.compile(
                str(source),
                cfile=str(target / f"{name}c"),
                dfile=f"{shown_as}/{name}",
                doraise=True,
                invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
            )
        except py_compile.PyCompileError as error:
            raise SetupError(f"{source} does not compile: {error.msg.strip()}") from None


def sources_below(folder: Path) -> dict[str, Path]:
    """All sources of a folder by their paths in it."""
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.py"))}


def archive(folder: Path, target: Path, level: int = 0) -> None:
    """Puts all files of a folder into a zip file, in the order of their names.

    Level 0 stores them: Python's importer reads such an archive before it has a decompressor.
    """
    method = zipfile.ZIP_DEFLATED if level else zipfile.ZIP_STORED
    with zipfile.ZipFile(target, "w", method, compresslevel=level or None) as file:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), _TIME)
                entry.compress_type = method
                entry.external_attr = path.stat().st_mode << 16
                file.writestr(entry, path.read_bytes())
