"""`./llm info FILE`: what a model file holds, and whether it fits. Needs no engine."""

import json
import sys
from typing import Any

from llm.commands.arguments import parse
from llm.commands.output import Output, reports_errors
from llm.generate.model_report import Machine, as_table, read_report
from llm.gpu.device.memory import available_ram
from llm.gpu.device.vulkan_memory import device_memory


@reports_errors
def main(node: Any, args: list[str]) -> int:
    """Writes the facts to stdout and returns 0, or one line to stderr and returns 1."""
    del node
    options = parse("info", args)
    machine = Machine(device_memory(), available_ram())
    report = read_report(options.file, options.context, options.quantize or "", machine)
    found = json.dumps(report.facts) if options.json else as_table(report.rows)
    Output().write(f"{found}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(None, sys.argv[1:]))
