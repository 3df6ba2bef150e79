"""Whether a step's inputs changed since it last finished."""

import hashlib
from collections.abc import Iterable
from pathlib import Path


def contents(paths: Iterable[Path]) -> str:
    """Digest of what the files hold; for few and small ones."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def changes(paths: Iterable[Path]) -> str:
    """Digest of the files' names, sizes and times; notices every edit without reading them."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        status = path.stat()
        digest.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


class Stamp:
    """A small file that holds the inputs for which a step's product was made."""

    def __init__(self, path: Path, *inputs: str) -> None:
        self._path = path
        self._text = "\n".join(inputs) + "\n"

    def is_current(self) -> bool:
        """True when the product was finished, and for these very inputs."""
        try:
            return self._path.read_text(encoding="utf-8") == self._text
        except OSError:
            return False

    def clear(self) -> None:
        """Call before the work starts: a product half made must not look finished."""
        self._path.unlink(missing_ok=True)

    def write(self) -> None:
        """Call after the work has ended."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._path.with_name(self._path.name + ".partial")
        temporary.write_text(self._text, encoding="utf-8")
        temporary.replace(self._path)
