"""What an exported game weighs, part by part: on the disk, and as a zip file would hold it."""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_CHUNK = 1 << 20
_MODELS = "models"


class Size(NamedTuple):
    """Bytes."""

    plain: int
    compressed: int


def of(path: Path) -> Size:
    """Of a file, or of all files of a folder, each compressed by itself."""
    if path.is_dir():
        inner = [of(each) for each in path.iterdir()]
        return Size(sum(each.plain for each in inner), sum(each.compressed for each in inner))
    packer = zlib.compressobj()
    compressed = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            compressed += len(packer.compress(chunk))
    return Size(path.stat().st_size, compressed + len(packer.flush()))


def table(game: Path) -> str:
    """The parts of the game in a folder; of models, which are large, only the size on the disk."""
    rows = [f"  {'':<44}{'MB':>8}{'in a zip':>10}"]
    for name, path in _parts(game):
        plain, compressed = of(path)
        rows.append(f"  {name:<44}{plain / 1e6:8.1f}{compressed / 1e6:10.1f}")
    for model in sorted((game / _MODELS).glob("*")):
        rows.append(f"  {_MODELS}/{model.name:<37}{model.stat().st_size / 1e6:8.1f}")
    return "\n".join(rows)


def _parts(game: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(game.iterdir()):
        if path.name != _MODELS and path.suffix != ".pck":
            yield path.name + ("/" if path.is_dir() else ""), path
        if path.name.startswith("llm."):
            for inner in sorted(path.iterdir()):
                if inner.is_dir() or inner.suffix == ".zip":
                    yield f"  {inner.name}", inner
