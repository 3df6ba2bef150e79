"""Finds model files and Hugging Face folders by their names alone; no file is opened."""

import os
import re
from collections.abc import Iterable, Iterator

from llm.files.folder.folder import CONFIG

_PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")


def find_models(folders: Iterable[str]) -> list[str]:
    """Paths below the folders, each once, in the order of their names: GGUF files, of split ones
    the first, and folders with config.json and safetensors.

    Folders that begin with a dot are passed over, unless they are named themselves, and links to
    folders are not followed.
    """
    found = {os.path.realpath(path): path for folder in folders for path in _below(folder)}
    return sorted(found.values(), key=lambda path: os.path.basename(path).lower())


def files_of(path: str) -> list[str]:
    """The files of a model: itself, all parts of a split one, or those of a folder."""
    if os.path.isdir(path):
        return [entry.path for entry in os.scandir(path) if entry.is_file()]
    part = _PART.search(path)
    if part is None:
        return [path]
    stem, count = path[: part.start()], part[2]
    names = (f"{stem}-{index:05}-of-{count}.gguf" for index in range(1, int(count) + 1))
    return [name for name in names if os.path.isfile(name)]


def _below(folder: str) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        if CONFIG in files and any(name.endswith(".safetensors") for name in files):
            folders.clear()
            yield parent
        for name in files:
            part = _PART.search(name)
            if name.lower().endswith(".gguf") and (part is None or int(part[1]) == 1):
                yield os.path.join(parent, name)
