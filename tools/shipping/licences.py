"""The licences of what a runtime holds: texts that whoever passes it on must pass on too."""

import importlib.metadata
import shutil
from collections.abc import Iterable
from pathlib import Path

from setup.paths import ROOT
from setup.report import SetupError

_OWN_TEXTS = Path(__file__).resolve().parent / "licences"
# Distributions that bring no text of their licence along.
_WITHOUT_TEXT = {"sentencepiece": "apache-2.0.txt"}
_NAMES = ("licen", "copying", "notice")


def collect(
    target: Path, standard_library: Path, distributions: Iterable[str], libraries: Iterable[str]
) -> None:
    """Writes one text for each part into `target`. Raises SetupError for one that has none."""
    target.mkdir(parents=True)
    shutil.copyfile(ROOT / "LICENSE", target / "godot-llm.txt")
    (target / "python.txt").write_text(_of_python(standard_library), encoding="utf-8")
    for name in sorted(set(distributions)):
        (target / f"{name}.txt").write_text(_of_distribution(name), encoding="utf-8")
    for name in sorted(libraries):
        stem = name.partition(".so")[0]
        shutil.copyfile(_OWN_TEXTS / f"{stem}.txt", target / f"{stem}.txt")


def _of_python(standard_library: Path) -> str:
    packaged = Path("/usr/share/doc") / standard_library.name / "copyright"
    for path in (standard_library / "LICENSE.txt", packaged):
        if path.exists():
            return path.read_text(encoding="utf-8")
    raise SetupError(
        f"no licence of Python found: neither LICENSE.txt in {standard_library} nor {packaged}"
    )


def _of_distribution(name: str) -> str:
    if name in _WITHOUT_TEXT:
        return (_OWN_TEXTS / _WITHOUT_TEXT[name]).read_text(encoding="utf-8")
    texts = [
        f"{path.name}\n\n{path.read_text(encoding='utf-8')}"
        for path in importlib.metadata.files(name) or ()
        if any(part in path.name.lower() for part in _NAMES) and path.suffix in ("", ".txt", ".md")
    ]
    if not texts:
        raise SetupError(f"no licence found in the package {name}, which a game would ship")
    return "\n\n".join(texts)
