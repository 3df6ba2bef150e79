"""The runtime's own runtime.cfg, and what of Python's library goes in."""

import sys

from shipping import contents
from shipping.runtime import Python, configuration


def test_every_place_is_inside_the_runtime() -> None:
    lines = configuration("libpython3.11.so.1.0").splitlines()
    assert lines[0] == "library = lib/libpython3.11.so.1.0"
    assert "path = llm.zip/python" in lines
    assert lines[-1] == "module = llm.nodes"
    assert not any("/.." in line or "= /" in line or "= .." in line for line in lines)


def test_python_starts_before_it_can_decompress() -> None:
    """Its compiled modules come second: stdlib.zip is stored, not compressed."""
    paths = [line for line in configuration("x").splitlines() if line.startswith("path")]
    assert paths[:2] == ["path = stdlib.zip", "path = lib-dynload"]


def test_what_is_left_out_is_no_module_in_use() -> None:
    in_use = {"os", "importlib", "json", "re", "threading", "typing", "ctypes", "concurrent"}
    assert in_use <= sys.stdlib_module_names
    assert not in_use & contents.STANDARD_LIBRARY_LEFT_OUT


def test_this_python_can_be_put_into_one() -> None:
    python = Python.here()
    assert python.library.name.startswith("libpython")
    assert (python.standard_library / "os.py").exists()
    assert (python.packages / "numpy").is_dir()
