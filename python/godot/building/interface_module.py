"""Builds godot_interface.abi3.so through cffi: the C interface, our C helpers, the callbacks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cffi import FFI

from . import in_use, interface_header

# Files of addons/llm/native/interface, in the order in which their headers need each other.
HELPERS = ("values", "containers", "object_calls", "compute")
CALLBACKS = "callbacks.h"
LIMITED_API = "0x030A0000"  # of CPython 3.10


def write_calls(dumped_header: Path, folder: Path) -> None:
    """Writes interface_calls.h and interface_calls.c, which our C helpers are compiled with."""
    functions = _functions_in_use(dumped_header)
    for name, text in (
        ("interface_calls.h", interface_header.calls_header(functions)),
        ("interface_calls.c", interface_header.calls_source(functions)),
    ):
        (folder / name).write_text(text, encoding="utf-8")


def build(
    dumped_header: Path, sources: Path, objects: Iterable[Path], folder: Path, compiler: str
) -> Path:
    """Builds the module in `folder` and returns its path.

    `sources` is addons/llm/native/interface, `objects` are its compiled files and that of
    interface_calls.c. The module uses the limited API, so that one binary serves every CPython
    from 3.10.
    """
    ffi = FFI()
    ffi.cdef(interface_header.declarations(dumped_header, compiler, folder / "empty_headers"))
    calls = interface_header.calls_header(_functions_in_use(dumped_header))
    ffi.cdef(interface_header.own_declarations(calls))
    headers = [f"{name}.h" for name in HELPERS]
    for name in (*headers, CALLBACKS):
        text = (sources / name).read_text(encoding="utf-8")
        ffi.cdef(interface_header.own_declarations(text))
    ffi.set_source(
        "godot_interface",
        "\n".join(f'#include "{name}"' for name in ("interface_calls.h", *headers)),
        extra_objects=[str(path) for path in objects],
        include_dirs=[str(folder), str(sources)],
        extra_compile_args=["-std=c11", "-O2"],
        define_macros=[("Py_LIMITED_API", LIMITED_API)],
        py_limited_api=True,
    )
    return Path(ffi.compile(tmpdir=str(folder)))


def _functions_in_use(dumped_header: Path) -> list[interface_header.Function]:
    found = interface_header.find_functions(dumped_header.read_text(encoding="utf-8"))
    return interface_header.select(found, in_use.INTERFACE_FUNCTIONS)
