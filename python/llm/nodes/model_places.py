"""Where the file of a path is: in the project, or in the game that was exported of it."""

import os

from godot import OS, FileAccess, ProjectSettings

BESIDE = "models"  # a folder beside the program; addons/llm/export fills it
DOWNLOADED = "user://models"  # addons/llm/models/missing_models.gd fills it


def locate(path: str) -> str:
    """A path as the operating system knows it.

    In an exported game, a res:// path means the file or folder of its name in `models` beside the
    program, else the file in the game's pack (see `llm.files.pack`), else what was downloaded.
    """
    if not path.startswith("res://") or not OS.has_feature("template"):
        return str(ProjectSettings.globalize_path(path))
    program = OS.get_executable_path()
    name = os.path.basename(path.rstrip("/"))
    beside = os.path.join(os.path.dirname(program), BESIDE, name)
    if os.path.exists(beside):
        return beside
    if not FileAccess.file_exists(path):
        downloaded = os.path.join(str(ProjectSettings.globalize_path(DOWNLOADED)), name)
        return downloaded if os.path.exists(downloaded) else beside
    own = [f"{os.path.splitext(program)[0]}.pck", f"{program}.pck"]
    pack = next((name for name in own if os.path.isfile(name)), program)
    return os.path.join(pack, path.removeprefix("res://"))


def is_there(path: str) -> bool:
    """Whether a path leads to a file or folder, in the game's pack too."""
    return os.path.exists(locate(path)) or bool(FileAccess.file_exists(path))
