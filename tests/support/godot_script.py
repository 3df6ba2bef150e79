"""GDScript compiled from text inside the engine, so that a test can look at Python from the other
side.
"""

from __future__ import annotations

import textwrap
from typing import Any

from godot import GDScript


def compile_script(source: str) -> Any:
    """A new object of the script `source`, which extends RefCounted unless it says otherwise."""
    text = textwrap.dedent(source).strip("\n") + "\n"
    if not text.startswith("extends"):
        text = "extends RefCounted\n" + text
    script = GDScript()
    script.source_code = text
    error = script.reload()
    assert error == 0, f"GDScript does not compile (error {error}):\n{text}"
    return script.new()
