"""The dumped header becomes declarations, prototypes and calls."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from godot.building.interface_header import (
    Function,
    calls_header,
    calls_source,
    declarations,
    find_functions,
    own_declarations,
    select,
)

HEADER = """
#pragma once
#ifndef __cplusplus
#include <stddef.h>
#include <stdint.h>

typedef uint32_t char32_t;
typedef uint16_t char16_t;
#else
#include <cstdint>
extern "C" {
#endif

typedef void *GDExtensionVariantPtr;
typedef void (*GDExtensionInterfaceFunctionPtr)();
typedef GDExtensionInterfaceFunctionPtr (*GDExtensionInterfaceGetProcAddress)(const char *p_name);

/**
 * @name mem_alloc
 * @since 4.1
 *
 * Allocates memory (as malloc does); returns NULL on failure.
 */
typedef void *(*GDExtensionInterfaceMemAlloc)(size_t p_bytes);

/**
 * @name take
 * @since 4.1
 */
typedef uint8_t (*GDExtensionInterfaceTake)(const GDExtensionVariantPtr *p_args, int32_t *r_count);

/**
 * @name nothing
 */
typedef void (*GDExtensionInterfaceNothing)();

#ifdef __cplusplus
}
#endif
"""


def test_find_functions_reads_name_type_result_and_parameters() -> None:
    found = find_functions(HEADER)
    assert set(found) == {"mem_alloc", "take", "nothing"}
    assert found["take"] == Function(
        "take",
        "GDExtensionInterfaceTake",
        "uint8_t",
        "const GDExtensionVariantPtr *p_args, int32_t *r_count",
    )
    assert found["mem_alloc"].result == "void *"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        pytest.param("take", ["p_args", "r_count"], id="stars are no part of a name"),
        pytest.param("nothing", [], id="no parameters"),
    ],
)
def test_arguments_are_the_parameters_names(name: str, arguments: list[str]) -> None:
    assert find_functions(HEADER)[name].arguments == arguments


def test_select_names_all_that_is_missing() -> None:
    with pytest.raises(LookupError, match="has no absent, gone"):
        select(find_functions(HEADER), ["take", "absent", "gone"])


def test_own_declarations_drops_the_preprocessors_lines() -> None:
    assert own_declarations("#ifndef A\n#include <x.h>\nint f(void);\n#endif") == "int f(void);"


needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@needs_compiler
def test_declarations_are_what_cffi_reads(tmp_path: Path) -> None:
    cffi = pytest.importorskip("cffi")
    header = tmp_path / "gdextension_interface.h"
    header.write_text(HEADER, encoding="utf-8")
    text = declarations(header, "cc", tmp_path / "empty")
    assert "char32_t" not in text
    assert "#" not in text
    ffi = cffi.FFI()
    ffi.cdef(text)
    assert ffi.sizeof("GDExtensionInterfaceTake") == ffi.sizeof("void *")


@needs_compiler
def test_calls_load_addresses_and_name_the_first_that_is_missing(tmp_path: Path) -> None:
    functions = select(find_functions(HEADER), ["mem_alloc", "take"])
    (tmp_path / "gdextension_interface.h").write_text(HEADER, encoding="utf-8")
    (tmp_path / "interface_calls.h").write_text(calls_header(functions), encoding="utf-8")
    (tmp_path / "interface_calls.c").write_text(calls_source(functions), encoding="utf-8")
    (tmp_path / "main.c").write_text(
        """
        #include "interface_calls.h"
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        static uint8_t take_three(const GDExtensionVariantPtr *args, int32_t *count) {
            (void)args;
            *count = 3;
            return 1;
        }
        static GDExtensionInterfaceFunctionPtr all(const char *name) {
            return strcmp(name, "take") == 0 ? (GDExtensionInterfaceFunctionPtr)take_three
                                             : (GDExtensionInterfaceFunctionPtr)malloc;
        }
        static GDExtensionInterfaceFunctionPtr some(const char *name) {
            return strcmp(name, "take") == 0 ? NULL : all(name);
        }
        int main(void) {
            int32_t count = 0;
            printf("%s ", interface_load(some));
            printf("%d ", interface_load(all) == NULL);
            printf("%d ", take(NULL, &count));
            printf("%d", count);
            return 0;
        }
        """,
        encoding="utf-8",
    )
    command = ["cc", "-std=c11", "-I", str(tmp_path), "-o", str(tmp_path / "main")]
    sources = [str(tmp_path / "main.c"), str(tmp_path / "interface_calls.c")]
    subprocess.run([*command, *sources], check=True, capture_output=True)
    done = subprocess.run([str(tmp_path / "main")], check=True, capture_output=True, text=True)
    assert done.stdout == "take 1 1 3"
