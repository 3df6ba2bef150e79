"""`./llm export [PRESET…]`: games of this project's presets, exported as a user's editor does."""

import configparser
import shutil
from collections.abc import Sequence
from pathlib import Path

from setup import default_model
from setup.engine import Engine
from setup.main import exclusive, prepare_engine
from setup.paths import CACHE, ENGINE, ROOT, VENV
from setup.processes import run_logged
from setup.report import say
from shipping import sizes

PRESETS = ROOT / "export_presets.cfg"
PLATFORM = "Linux"  # what this runs on, as presets name it
_DATA = CACHE / "export_data"


def main(names: Sequence[str]) -> int:
    """Exports the named presets, or all for this platform; 2 for a name that there is not."""
    known = presets()
    unknown = [name for name in names if name not in known]
    if unknown:
        say(f"there is no preset '{unknown[0]}'; the presets are {', '.join(known)}")
        return 2
    with exclusive():
        godot = prepare_engine()
        default_model.ensure()
        lay_out_runtime(godot)
        for name in names or presets(PLATFORM):
            program = ROOT / known[name]
            export(godot, name, program)
            say(f"{name} is in {program.parent.relative_to(ROOT)}/")
            print(sizes.table(program.parent), flush=True)
    return 0


def presets(platform: str = "") -> dict[str, str]:
    """Names of the presets, or of those for one platform, and the programs that they make."""
    parser = configparser.ConfigParser()
    parser.read(PRESETS, encoding="utf-8")
    found = [parser[name] for name in parser.sections() if name.count(".") == 1]
    fit = [each for each in found if platform in ("", each["platform"].strip('"'))]
    return {each["name"].strip('"'): each["export_path"].strip('"') for each in fit}


def lay_out_runtime(godot: Engine) -> None:
    """As `scons runtime`."""
    run_logged(
        "laying out the runtime for games",
        [VENV / "bin" / "scons", "-Q", "-j1", f"godot={godot.program}", "runtime"],
    )


def export(godot: Engine, preset: str, program: Path) -> None:
    """Exports this project. Raises SetupError with the first error that the engine reports."""
    shutil.rmtree(program.parent, ignore_errors=True)
    program.parent.mkdir(parents=True)
    (ROOT / "build" / ".gdignore").touch()
    run_logged(
        f"exporting {preset}",
        [
            *(godot.program, "--headless", "--path", ROOT),
            *("--export-release", preset, program),
        ],
        environment=template_environment(godot),
        describe=lambda line: line if line.startswith("[") else None,
    )


def template_environment(godot: Engine) -> dict[str, str]:
    """Where the private engine finds its release template; a user's own knows its templates."""
    if not godot.private:
        return {}
    version = godot.version.partition(".stable")[0] + ".stable"
    folder = _DATA / "godot" / "export_templates" / version
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / "linux_release.x86_64"
    link.unlink(missing_ok=True)
    link.symlink_to(ENGINE / "bin" / "godot-template-release")
    return {"XDG_DATA_HOME": str(_DATA)}
