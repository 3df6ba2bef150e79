"""Godot's release template with a pack of its own, in which a command of ours runs.

A release template takes neither --path nor --main-pack: it runs the pack of its own name beside it.
So it is copied to a folder, and beside it lie: the pack, with a scene and the description of the
extension; the extension's library, which no engine loads from inside a pack and which Godot looks
for beside the program; and runtime.cfg beside the library, whose absolute paths lead to the
project's Python code. Python and shaders are read from the project as they are.
"""

import json
import os
import shlex
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from setup import engine
from setup.paths import ADDON, ADDON_BIN, ENGINE, ROOT
from setup.processes import run_logged
from setup.report import SetupError

NAMES = ("godot-template", "godot-template-release")
PROGRAM = "bench"
PACKAGES = "site-packages"
_GAME = Path(__file__).resolve().parent / "game"
_FACTS = "template.json"
_SETTINGS = """config_version=5

[application]

config/name="Godot LLM bench"
run/main_scene="res://main.tscn"
"""


@dataclass(frozen=True)
class Template:
    """What starts the packed template. A script of the host's brings screen and driver itself."""

    program: str
    is_script: bool
    is_private: bool  # made by ./llm setup, which knows its software driver


def make(folder: Path, named: str | None, venv: Path | None) -> Template:
    """Makes everything in `folder`. Raises SetupError with what is missing.

    `named` is a template, where it is not the usual one; `venv` a virtual environment with our
    packages, where it is not that of runtime.cfg.
    """
    found = find(named)
    binary = binary_of(found)
    library = _library()
    configuration = ADDON_BIN / "runtime.cfg"
    if library is None or not configuration.exists():
        raise SetupError(f"the add-on is not built: run ./llm setup, which fills {ADDON_BIN}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _FACTS).unlink(missing_ok=True)
    program = folder / PROGRAM
    _replace(binary, program)
    if found != binary:
        program = folder / f"{PROGRAM}.sh"
        text = found.read_text(encoding="utf-8")
        program.write_text(text.replace(str(binary), str(folder / PROGRAM)), encoding="utf-8")
        program.chmod(0o755)
    _replace(library, folder / library.name)
    text = moved(configuration.read_text(encoding="utf-8"), ADDON_BIN, venv)
    (folder / "runtime.cfg").write_text(text, encoding="utf-8")
    _pack(folder)
    made = Template(str(program), found != binary, ENGINE in binary.resolve().parents)
    (folder / _FACTS).write_text(json.dumps(asdict(made)), encoding="utf-8")
    return made


def made_in(folder: Path) -> Template:
    """What `make` made there. SetupError where it did not."""
    try:
        return Template(**json.loads((folder / _FACTS).read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError):
        raise SetupError(f"there is no template in {folder}: run the step pack first") from None


def find(named: str | None) -> Path:
    """The template named, else the one on PATH, else the private one."""
    if named is not None:
        path = shutil.which(named)
        if path is None:
            raise SetupError(f"'{named}' is not a program: --template takes a release template")
        return Path(path).absolute()
    for name in NAMES:
        path = shutil.which(name)
        if path is not None:
            return Path(path).absolute()
    private = ENGINE / "bin" / NAMES[-1]
    if not private.exists():
        raise SetupError(
            f"no release template found: put it on PATH as {NAMES[0]}, name it with --template, "
            "or run ./llm setup, which makes one"
        )
    return private


def binary_of(program: Path) -> Path:
    """The program itself, or the first binary that a script of one command names."""
    if _is_binary(program):
        return program
    try:
        words = shlex.split(program.read_text(encoding="utf-8"), comments=True)
    except ValueError:
        words = []
    for word in words:
        if os.path.isabs(word) and _is_binary(Path(word)):
            return Path(word)
    raise SetupError(f"{program} neither is a binary nor names one by its absolute path")


def moved(configuration: str, folder: Path, venv: Path | None) -> str:
    """Text of a runtime.cfg of `folder` that means the same anywhere else, but for `venv`.

    Raises SetupError where it names what is not there.
    """
    lines = []
    for line in configuration.splitlines():
        key, equals, value = line.partition(" = ")
        if equals and key != "module":
            path = Path(os.path.normpath(folder / value))
            if venv is not None and path.name == PACKAGES:
                path = venv / "lib" / path.parent.name / PACKAGES
            if not path.exists():
                raise SetupError(
                    f"there is no {path}, which runtime.cfg names: run ./llm setup, or give --venv "
                    "a virtual environment of the same Python with the packages of requirements.txt"
                )
            value = str(path)
        lines.append(f"{key}{equals}{value}\n")
    return "".join(lines)


def settings(project: str) -> str:
    """project.godot of the pack: rendering as in the project's own, given as text."""
    section: list[str] = []
    is_inside = False
    for line in project.splitlines():
        if line.startswith("["):
            is_inside = line == "[rendering]"
        if is_inside:
            section.append(line)
    return "\n".join([_SETTINGS, *section]) + "\n"


def _pack(folder: Path) -> None:
    project = folder / "project"
    project.mkdir(exist_ok=True)
    text = settings((ROOT / "project.godot").read_text(encoding="utf-8"))
    (project / "project.godot").write_text(text, encoding="utf-8")
    # Not at its own place in the project: the engine would first look for the library there,
    # relative to the folder that it is started in.
    extension = f"bench/{ADDON.name}.gdextension"
    (project / "extensions.cfg").write_text(f"res://{extension}\n", encoding="utf-8")
    (project / "classes.cfg").write_text("list=[]\n", encoding="utf-8")
    files = {
        "project.godot": project / "project.godot",
        "main.tscn": _GAME / "main.tscn",
        "main.gd": _GAME / "main.gd",
        ".godot/extension_list.cfg": project / "extensions.cfg",
        ".godot/global_script_class_cache.cfg": project / "classes.cfg",
        extension: ADDON / f"{ADDON.name}.gdextension",
    }
    pack = folder / f"{PROGRAM}.pck"
    pack.unlink(missing_ok=True)
    words = [str(word) for target, path in files.items() for word in (f"res://{target}", path)]
    script = ["--script", str(_GAME / "pack.gd"), "--", str(pack), *words]
    run_logged(
        "packing the release template", [_editor(), "--headless", "--path", project, *script]
    )
    if not pack.exists():
        raise SetupError(f"the engine made no {pack}, and did not say why")


def _editor() -> Path:
    installed = engine.find_installed()
    if installed is not None:
        return installed.program
    private = ENGINE / "bin" / "godot"
    if not private.exists():
        raise SetupError(
            "no Godot 4.4 or newer found: put it on PATH, set GODOT to it, or run ./llm setup"
        )
    return private


def _library() -> Path | None:
    return next(ADDON_BIN.glob("libllm.*"), None)


def _is_binary(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def _replace(source: Path, target: Path) -> None:
    """Copies; the old file is removed first, as a running program cannot be written to."""
    target.unlink(missing_ok=True)
    shutil.copy2(source, target)
