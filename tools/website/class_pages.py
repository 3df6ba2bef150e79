"""Writes the editor's help page of each of the add-on's classes; runs inside the engine.

`run.gd -- tools/website/class_pages.py FOLDER` leaves FOLDER/<class>.xml, in the form of the
engine's own class reference.
"""

from pathlib import Path

from godot.docs import class_page
from godot.registration import registered

OWN = "llm."  # modules; PythonCommand, which is of godot, is for programs


def main(node: object, arguments: list[str]) -> int:
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.glob("*.xml"):
        stale.unlink()
    for name, entry in registered.items():
        if entry.cls.__module__.startswith(OWN):
            (folder / f"{name}.xml").write_text(class_page(entry), encoding="utf-8")
    return 0
