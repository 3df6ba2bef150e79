"""`./llm info`: what a GGUF file says about itself. Runs without the engine."""

import json
import math
import sys
from collections import Counter
from typing import Any

from llm.commands.arguments import parse
from llm.commands.output import Output, reports_errors
from llm.files.gguf import GgufFile
from llm.files.metadata import Metadata
from llm.models.registry import ARCHITECTURES

_LONGEST_TEXT = 200  # of a value that is printed in full; a chat template is longer


@reports_errors
def main(node: Any, args: list[str]) -> int:
    del node
    options = parse("info", args)
    with GgufFile.open(options.file) as file:
        facts = describe(file)
    output = Output()
    output.write(json.dumps(facts, indent=1) + "\n" if options.json else _as_text(facts))
    return 0


def describe(file: GgufFile) -> dict[str, Any]:
    """The file's facts in types that JSON has; `metadata` holds arrays by their length only."""
    tensors = file.tensors.values()
    architecture = file.metadata.str("general.architecture", "")
    return {
        "path": file.path,
        "version": file.version,
        "name": file.metadata.str("general.name", ""),
        "architecture": architecture,
        "supported": architecture in ARCHITECTURES,
        "parameters": sum(info.count for info in tensors),
        "tensor_bytes": sum(info.size for info in tensors),
        "tensors": len(file.tensors),
        "formats": dict(Counter(info.format.name for info in tensors).most_common()),
        "metadata": {key: _shown(file.metadata, key) for key in file.metadata},
    }


def _shown(metadata: Metadata, key: str) -> Any:
    value = metadata[key]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no such number
    if isinstance(value, str | int | float | bool):
        return value
    return f"[{len(value):,} values]"


def _as_text(facts: dict[str, Any]) -> str:
    formats = ", ".join(f"{name} ×{count}" for name, count in facts["formats"].items())
    runs = "runs here" if facts["supported"] else "does not run here"
    lines = [
        f"{facts['name'] or facts['path']}  ({facts['architecture'] or 'no architecture'}, {runs})",
        f"GGUF version {facts['version']}, {facts['parameters']:,} parameters "
        f"in {facts['tensor_bytes'] / 1e6:,.0f} MB",
        f"{facts['tensors']} tensors: {formats}",
        "",
        *(f"{key} = {_short(value)}" for key, value in facts["metadata"].items()),
    ]
    return "\n".join(lines) + "\n"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else str(value)
    text = text.encode("unicode_escape").decode("ascii") if not text.isprintable() else text
    return (
        text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}… ({len(text):,} letters)"
    )


if __name__ == "__main__":
    sys.exit(main(None, sys.argv[1:]))
