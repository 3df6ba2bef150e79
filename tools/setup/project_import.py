"""Godot's own preparation of the project: imported assets, script classes, the extension list."""

from collections.abc import Iterable
from pathlib import Path

from setup.engine import Engine
from setup.paths import ROOT
from setup.processes import run_logged
from setup.stamp import Stamp, changes

_ASSETS = ("*.svg", "*.png", "*.ttf", "*.otf", "*.wav", "*.ogg", "*.glsl", "*.gdextension")
_EXTENSION_LIST = ROOT / ".godot" / "extension_list.cfg"
_DECLARATIONS = ("class_name ", "extends ", "@icon")


def ensure(engine: Engine) -> None:
    """Runs `--import` when an asset, a script's class name or the engine changed."""
    scripts = project_files(("*.gd",))
    stamp = Stamp(
        ROOT / ".godot" / "imported.stamp",
        changes(project_files(_ASSETS)),
        *(f"{path.relative_to(ROOT)}: {declarations(path)}" for path in scripts),
        engine.version,
    )
    if stamp.is_current():
        return
    stamp.clear()
    # Without the list, the first import would parse our scripts before it knows our classes.
    extensions = [path.relative_to(ROOT) for path in project_files(("*.gdextension",))]
    _EXTENSION_LIST.parent.mkdir(exist_ok=True)
    _EXTENSION_LIST.write_text(
        "".join(f"res://{path.as_posix()}\n" for path in extensions), encoding="utf-8"
    )
    run_logged(
        "importing the project into Godot",
        [engine.program, "--headless", "--path", ROOT, "--import"],
        describe=lambda line: line if line.startswith("[") else None,
    )
    stamp.write()


def project_files(patterns: Iterable[str]) -> list[Path]:
    """Files that Godot sees, sorted: folders with a leading dot or a .gdignore are not walked."""
    found: list[Path] = []
    names = tuple(patterns)
    pending = [ROOT]
    while pending:
        folder = pending.pop()
        for path in folder.iterdir():
            if path.name.startswith(".") or path.name == "__pycache__":
                continue
            if path.is_dir():
                if not (path / ".gdignore").exists():
                    pending.append(path)
            elif any(path.match(pattern) for pattern in names):
                found.append(path)
    return sorted(found)


def declarations(script: Path) -> str:
    """The lines of a script that Godot's list of global classes depends on."""
    lines = script.read_text(encoding="utf-8").splitlines()
    return " ".join(line.strip() for line in lines if line.startswith(_DECLARATIONS))
