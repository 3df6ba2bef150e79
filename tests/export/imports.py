"""Run inside an engine that has nothing but an add-on's own runtime: imports all that games use."""

import importlib
import pkgutil
import sys
from typing import Any

import godot
import llm

PACKAGES = ("numpy", "gguf", "jinja2.sandbox", "jinja2.ext", "sentencepiece", "llguidance")


def main(_node: Any, _arguments: list[str]) -> int:
    """Prints what was imported, and whence; an exception ends the engine with its traceback."""
    names = [
        module.name
        for package in (godot, llm)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]
    for name in (*PACKAGES, *names):
        importlib.import_module(name)
    strangers = sorted(
        path
        for path in (getattr(module, "__file__", None) for module in sys.modules.values())
        if path and "/llm.linux." not in path
    )
    print(f"imported {len(names)}, strangers: {strangers}", flush=True)
    return 0
