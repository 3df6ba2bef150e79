"""The engine's gdextension_interface.h -> declarations for cffi, and C functions for pointers.

The interface is handed out one function pointer at a time. `Function` knows the C type of each from
the header's own `@name` comments, and `calls_source` writes one plain C function for each that is
in use, so that Python can call them through the compiled module rather than through libffi.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

_DECLARATION = re.compile(
    r"@name (?P<name>\w+)\n(?:(?!\*/).)*?\*/\s*"
    r"typedef (?P<result>[\w ]+?[ *]+)\(\*(?P<type>\w+)\)\((?P<parameters>[^;]*)\);",
    re.DOTALL,
)


class Function(NamedTuple):
    """One function of the interface, as the header declares it."""

    name: str
    type: str
    result: str
    parameters: str

    @property
    def arguments(self) -> list[str]:
        """The parameters' names."""
        if not self.parameters.strip():
            return []
        return [part.split()[-1].lstrip("*") for part in self.parameters.split(",")]

    @property
    def prototype(self) -> str:
        return f"{self.result} {self.name}({self.parameters or 'void'})"


def find_functions(header: str) -> dict[str, Function]:
    """Every function of the interface, by the name that the engine knows it under."""
    found = {}
    for match in _DECLARATION.finditer(header):
        fields = match.groupdict()
        result = " ".join(fields["result"].split())
        parameters = " ".join(fields["parameters"].split())
        found[fields["name"]] = Function(fields["name"], fields["type"], result, parameters)
    return found


def select(functions: dict[str, Function], names: list[str]) -> list[Function]:
    """The functions called `names`; raises LookupError naming those that the header lacks."""
    missing = [name for name in names if name not in functions]
    if missing:
        raise LookupError(
            f"gdextension_interface.h has no {', '.join(missing)}; Godot 4.4 or newer is needed"
        )
    return [functions[name] for name in names]


def calls_header(functions: list[Function]) -> str:
    """interface_calls.h: one prototype a function, and how to fetch their addresses."""
    lines = ["#pragma once", "#include <gdextension_interface.h>", ""]
    lines += [
        "/* Fetches every address. Null, or the name of a function that this engine lacks. */",
        "const char *interface_load(GDExtensionInterfaceGetProcAddress get_proc_address);",
        "",
    ]
    lines += [f"{function.prototype};" for function in functions]
    return "\n".join(lines) + "\n"


# The address is copied, because compilers warn of casts between types of functions.
_FETCH = """\
static int fetch(GDExtensionInterfaceGetProcAddress get, const char *name, void *target) {
	GDExtensionInterfaceFunctionPtr address = get(name);
	memcpy(target, &address, sizeof(address));
	return address != NULL;
}"""


def calls_source(functions: list[Function]) -> str:
    """interface_calls.c: each function calls the address that the engine gave."""
    lines = ['#include "interface_calls.h"', "", "#include <string.h>", "", "static struct {"]
    lines += [f"\t{function.type} {function.name};" for function in functions]
    lines += ["} addresses;", "", *_FETCH.splitlines(), ""]
    lines += ["const char *interface_load(GDExtensionInterfaceGetProcAddress get_proc_address) {"]
    for function in functions:
        lines += [
            f'\tif (!fetch(get_proc_address, "{function.name}", &addresses.{function.name})) {{',
            f'\t\treturn "{function.name}";',
            "\t}",
        ]
    lines += ["\treturn NULL;", "}"]
    for function in functions:
        back = "" if function.result == "void" else "return "
        call = f"{back}addresses.{function.name}({', '.join(function.arguments)});"
        lines += ["", f"{function.prototype} {{", f"\t{call}", "}"]
    return "\n".join(lines) + "\n"


def declarations(header: Path, compiler: str, scratch: Path) -> str:
    """The header without comments, includes and conditions, as cffi reads it.

    The preprocessor runs with empty standard headers, because cffi knows the fixed-width types
    itself, as it knows char16_t and char32_t, whose typedefs are dropped.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    for name in ("stddef.h", "stdint.h", "stdbool.h"):
        (scratch / name).write_text("", encoding="utf-8")
    command = [compiler, "-E", "-P", "-nostdinc", "-I", str(scratch), "-I", str(header.parent)]
    text = subprocess.run(
        [*command, str(header)], check=True, capture_output=True, text=True
    ).stdout
    return re.sub(r"typedef \w+ char(16|32)_t;", "", text)


def own_declarations(text: str) -> str:
    """One of our own headers without its preprocessor lines: all that is left is for cffi."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("#"))
