"""The virtual environment of pinned packages, and the facts about the Python that Godot embeds."""

import importlib.util
import json
import shutil
import sys
import sysconfig
from dataclasses import asdict, dataclass
from pathlib import Path

from setup import system_packages
from setup.paths import ROOT, VENV, VENV_PYTHON
from setup.processes import output_of, run_logged
from setup.report import SetupError
from setup.stamp import Stamp, contents

OLDEST = (3, 11)
REQUIREMENTS = ROOT / "requirements.txt"
TEST_REQUIREMENTS = ROOT / "requirements-test.txt"
SITE_REQUIREMENTS = ROOT / "requirements-docs.txt"
_FACTS = VENV / "embedding.json"


@dataclass(frozen=True)
class EmbeddedPython:
    """What a host needs to know to start this Python inside another program."""

    library: str
    home: str
    standard_library: str
    extension_modules: str
    packages: str
    version: str


def shared_library(variables: dict[str, object]) -> Path | None:
    """The shared libpython, from `sysconfig.get_config_vars()`; None where there is none."""
    name = str(variables.get("INSTSONAME") or "")
    if ".so" not in name:
        return None
    folder = Path(str(variables.get("LIBDIR")))
    multiarch = str(variables.get("MULTIARCH") or "")
    for candidate in (folder / name, folder / multiarch / name):
        if candidate.exists():
            return candidate
    return None


def ensure() -> EmbeddedPython:
    """Makes the environment where it is missing, half made, or made of other requirements.

    One that is finished is kept, whichever Python runs this.
    """
    stamp = Stamp(VENV / "finished.stamp", contents([REQUIREMENTS]), str(VENV))
    if stamp.is_current() and VENV_PYTHON.exists():
        return EmbeddedPython(**json.loads(_FACTS.read_text(encoding="utf-8")))
    facts = _embedded_python()
    stamp.clear()
    if output_of([VENV_PYTHON, "-c", "import pip, sys; print(sys.version)"]) != sys.version + "\n":
        shutil.rmtree(VENV, ignore_errors=True)
        run_logged("making a virtual environment in .venv", [_base_python(), "-m", "venv", VENV])
    _install("installing the pinned Python packages", REQUIREMENTS)
    _FACTS.write_text(json.dumps(asdict(facts), indent=1), encoding="utf-8")
    stamp.write()
    return facts


def ensure_test_packages() -> None:
    """What only `./llm test` needs; after `ensure`."""
    _ensure_more("tests", TEST_REQUIREMENTS)


def ensure_site_packages() -> None:
    """What only `./llm docs` needs; after `ensure`."""
    _ensure_more("docs", SITE_REQUIREMENTS)


def _ensure_more(purpose: str, requirements: Path) -> None:
    stamp = Stamp(VENV / f"{purpose}.stamp", contents([REQUIREMENTS, requirements]), str(VENV))
    if not stamp.is_current():
        stamp.clear()
        _install(f"installing the pinned packages for {purpose}", requirements)
        stamp.write()


def _install(title: str, requirements: Path) -> None:
    run_logged(
        title,
        [VENV_PYTHON, "-m", "pip", "install", "--no-input", "-r", requirements],
        environment={"PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        describe=_describe_pip,
    )


def _embedded_python() -> EmbeddedPython:
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if sys.version_info[:2] < OLDEST:
        raise SetupError(f"Python {OLDEST[0]}.{OLDEST[1]} or newer is needed; this is {version}")
    variables = sysconfig.get_config_vars()
    headers = Path(sysconfig.get_path("include")) / "Python.h"
    packaged = sys.base_prefix == "/usr"
    needs = [
        system_packages.Need(
            f"the shared library of Python {version}",
            (f"libpython{version}",),
            lambda: shared_library(variables) is not None,
        ),
        system_packages.Need(
            f"Python.h of Python {version}", (f"libpython{version}-dev",), headers.exists
        ),
        system_packages.Need(
            "Python's venv module",
            (f"python{version}-venv",),
            lambda: importlib.util.find_spec("ensurepip") is not None,
        ),
    ]
    if packaged:
        system_packages.ensure(needs)
    for need in needs:
        if not need.is_there():
            raise SetupError(
                f"{sys.executable} cannot be embedded: {need.what} is missing; run ./llm with a "
                "Python that has it (built with --enable-shared)"
            )
    paths = sysconfig.get_paths()
    extension_modules = Path(str(variables["DESTSHARED"]))
    return EmbeddedPython(
        library=str(shared_library(variables)),
        home=sys.base_prefix,
        standard_library=paths["stdlib"],
        extension_modules=str(extension_modules),
        packages=str(VENV / "lib" / f"python{version}" / "site-packages"),
        version=version,
    )


def _base_python() -> str:
    """The interpreter itself, where this one runs from somebody's virtual environment."""
    return str(getattr(sys, "_base_executable", None) or sys.executable)


def _describe_pip(line: str) -> str | None:
    verb = line.split(" ", 1)[0]
    return line if verb in ("Collecting", "Downloading", "Installing", "Building") else None
