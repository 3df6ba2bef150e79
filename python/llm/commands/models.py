"""`./llm models`: what is known to run here, each with the test that shows it. Needs no engine.

Architectures, formats and kinds of files are those that the code itself looks up. Of an
architecture these are the cases, which tests/models and tests/gpu/test_architectures.py run.
"""

import json
import sys
from dataclasses import asdict, dataclass
from typing import Any

from llm.commands.arguments import parse
from llm.commands.output import Output, reports_errors
from llm.files.repack import PLANES
from llm.models.registry import DECODERS, ENCODERS

FILES = {
    "GGUF": "tests/python/files/test_gguf.py",
    "GGUF in several files": "tests/python/files/test_split_gguf.py",
    "a Hugging Face folder": "tests/models/test_stored_folders.py",
}
_ENCODERS = "tests/gpu/test_encoders.py"
_KERNELS = "tests/gpu/test_kernels_products.py"  # of every format


@dataclass(frozen=True, slots=True)
class Known:
    kind: str  # "architecture", "format" or "file"
    name: str
    test: str  # its path in the project


def known() -> list[Known]:
    rows = []
    for name, build in sorted(DECODERS.items()):
        module = build.__module__.rpartition(".")[2]
        rows.append(Known("architecture", name, f"tests/support/architectures/{module}.py"))
    rows += [Known("architecture", name, _ENCODERS) for name in sorted(ENCODERS)]
    rows += [Known("format", name, _KERNELS) for name in PLANES]
    return rows + [Known("file", name, test) for name, test in FILES.items()]


def as_table(rows: list[Known]) -> str:
    lines = []
    for kind in dict.fromkeys(row.kind for row in rows):
        lines.append(f"{kind}s")
        lines += [f"  {row.name:<24}{row.test}" for row in rows if row.kind == kind]
    return "\n".join(lines)


@reports_errors
def main(node: Any, args: list[str]) -> int:
    """Writes the table to stdout and returns 0."""
    del node
    options = parse("models", args)
    rows = known()
    text = json.dumps([asdict(row) for row in rows]) if options.json else as_table(rows)
    Output().write(f"{text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(None, sys.argv[1:]))
