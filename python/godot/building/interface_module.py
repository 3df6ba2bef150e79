"""Compiles godot_interface.abi3.so: the C interface, our C helpers and the callbacks."""

from __future__ import annotations

from pathlib import Path

from cffi import FFI

from . import in_use, interface_header

HELPERS = ("values", "object_calls", "compute")
WARNINGS = ["-std=c11", "-O2", "-fvisibility=hidden"]


def build(dumped_header: Path, sources: Path, folder: Path, compiler: str) -> Path:
    """Writes the module into `folder` and returns its path.

    `sources` is addons/llm/native/interface. The module uses the limited API, so that one binary
    serves every CPython from 3.10.
    """
    functions = interface_header.select(
        interface_header.find_functions(dumped_header.read_text(encoding="utf-8")),
        in_use.INTERFACE_FUNCTIONS,
    )
    calls = interface_header.calls_header(functions)
    (folder / "interface_calls.h").write_text(calls, encoding="utf-8")
    (folder / "interface_calls.c").write_text(
        interface_header.calls_source(functions), encoding="utf-8"
    )

    ffi = FFI()
    ffi.cdef(interface_header.declarations(dumped_header, compiler, folder / "empty_headers"))
    ffi.cdef(interface_header.own_declarations(calls))
    for name in HELPERS:
        text = (sources / f"{name}.h").read_text(encoding="utf-8")
        ffi.cdef(interface_header.own_declarations(text))
    ffi.cdef((sources / "callbacks.h").read_text(encoding="utf-8"))

    includes = ["interface_calls.h", *(f"{name}.h" for name in HELPERS)]
    ffi.set_source(
        "godot_interface",
        "\n".join(f'#include "{name}"' for name in includes),
        sources=[
            str(folder / "interface_calls.c"),
            *(str(sources / f"{name}.c") for name in HELPERS),
        ],
        include_dirs=[str(folder), str(dumped_header.parent), str(sources)],
        extra_compile_args=WARNINGS,
        define_macros=[("Py_LIMITED_API", "0x030A0000")],
        py_limited_api=True,
    )
    return Path(ffi.compile(tmpdir=str(folder)))
