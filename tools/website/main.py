"""`./llm docs [--serve]`: the site, in build/site or shown on this machine's port 8000."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from setup.launch import Launcher
from setup.main import exclusive, prepare_engine
from setup.paths import ROOT, VENV_PYTHON
from setup.processes import run_logged
from setup.python_environment import ensure_site_packages
from setup.report import SetupError, say
from website.reference import CLASS_PAGES

SITE = ROOT / "build" / "site"
_HERE = Path(__file__).parent
_ENVIRONMENT = {"PYTHONPATH": str(ROOT / "tools"), "NO_MKDOCS_2_WARNING": "1"}


def main(words: Sequence[str]) -> int:
    """Builds it, or shows it, made anew with each change, until Ctrl-C; 2 for other words."""
    if words and list(words) != ["--serve"]:
        say("docs takes one option, --serve (try ./llm --help)")
        return 2
    with exclusive():
        launcher = Launcher(prepare_engine())
        ensure_site_packages()
    _write_class_pages(launcher)
    if words:
        shown = {**os.environ, **_ENVIRONMENT}
        return subprocess.run(_mkdocs("serve"), cwd=ROOT, env=shown, check=False).returncode
    run_logged("building the site", _mkdocs("build", "--strict"), environment=_ENVIRONMENT)
    (SITE.parent / ".gdignore").touch()
    say(f"the site is {SITE.relative_to(ROOT)}/index.html")
    return 0


def _write_class_pages(launcher: Launcher) -> None:
    status = launcher.module(str(_HERE / "class_pages.py"), [str(CLASS_PAGES)], headless=True)
    if status != 0:
        raise SetupError("the engine did not write the help pages of the nodes")


def _mkdocs(*words: str) -> list[str]:
    return [str(VENV_PYTHON), "-m", "mkdocs", *words, "-f", str(_HERE / "mkdocs.yml")]
