"""`./llm info FILE`: what a model file holds, and whether it fits. Needs no engine."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from llm.commands.adapter_info import adapter_rows, read_adapter_info
from llm.commands.arguments import parse
from llm.commands.model_info import ModelInfo, read_info
from llm.commands.output import Output, reports_errors
from llm.errors import printable
from llm.files.adapter import is_adapter
from llm.files.opening import open_model
from llm.files.wording import readable_size
from llm.gpu.device.memory import available_ram
from llm.gpu.device.vulkan_memory import DeviceMemory, device_memory


def as_table(info: ModelInfo, gpu: DeviceMemory | None, ram: int | None) -> str:
    """The facts as lines for a person; `ram` are the bytes that can be had, where that is known."""
    rows: list[tuple[str, str | int | None]] = [
        ("file", info.file),
        ("size", f"{readable_size(info.file_bytes)}, {info.kind}"),
        ("architecture", info.architecture),
        ("runs here", "yes" if info.problem is None else f"no: {info.problem}"),
        ("name", info.name),
        ("parameters", _count(info.parameters)),
        ("context length", info.context_length),
        ("layers", info.layers),
        ("width", info.width),
        ("heads", info.heads),
        ("key/value heads", info.kv_heads),
        ("head size", info.head_size),
        ("vocabulary", info.vocabulary),
        ("tokenizer", info.tokenizer),
        ("chat template", info.chat_template or "none"),
        ("weights", readable_size(info.tensor_bytes)),
    ]
    for name, share in info.formats.items():
        tensors = f"{share.tensors:,} tensor{'s' if share.tensors != 1 else ''}"
        rows.append((f"  {name}", f"{readable_size(share.bytes):>10}  in {tensors}"))
    if info.cache_bytes is not None and info.gpu_bytes is not None:
        cache = f"{readable_size(info.cache_bytes)} of keys and values"
        memory = f"{readable_size(info.gpu_bytes)} at {info.memory_context:,} tokens, with {cache}"
        rows.append(("memory", memory))
        rows.append(("  on the GPU", _on_gpu(info.gpu_bytes, gpu, ram)))
    if info.table_bytes:
        where = "on the GPU" if info.tables_on_gpu else "in RAM, beside that: the file, mapped"
        rows.append(("  per layer", f"{readable_size(info.table_bytes)} of embeddings, {where}"))
    if info.numpy_bytes is not None:
        rows.append(("  on numpy", _fits(info.numpy_bytes, ram, "of RAM are available")))
    return _table(rows)


def _table(rows: Sequence[tuple[str, str | int | None]]) -> str:
    return "\n".join(f"{name:<17}{_shown(value)}" for name, value in rows)


def _on_gpu(needed: int, gpu: DeviceMemory | None, ram: int | None) -> str:
    if gpu is None:
        return "no Vulkan device was found"
    if gpu.is_cpu:
        return _fits(needed, ram, f"of RAM are available to {gpu.device}")
    free = gpu.total if gpu.free is None else gpu.free
    of_all = "" if gpu.free is None else f" of {readable_size(gpu.total)} are free"
    return _fits(needed, free, f"{of_all.strip() or 'are there'} on {gpu.device}")


def _fits(needed: int, available: int | None, where: str) -> str:
    if available is None:
        return f"takes {readable_size(needed)}; this system does not say how much there is"
    verdict = "fits" if needed <= available else "does not fit"
    return f"{verdict}: takes {readable_size(needed)}, {readable_size(available)} {where}"


def _shown(value: str | int | None) -> str:
    if value is None:
        return "not given"
    return f"{value:,}" if isinstance(value, int) else printable(value)


def _count(parameters: int) -> str:
    for scale, letter in ((10**9, "B"), (10**6, "M"), (10**3, "K")):
        if parameters >= scale:
            return f"{parameters / scale:.3g} {letter} ({parameters:,})"
    return str(parameters)


def _as_json(info: ModelInfo, gpu: DeviceMemory | None, ram: int | None) -> str:
    facts = asdict(info) | {"supported": info.supported, "available_ram": ram}
    return json.dumps(facts | {"gpu": None if gpu is None else asdict(gpu)})


@reports_errors
def main(node: Any, args: list[str]) -> int:
    """Writes the facts to stdout and returns 0, or one line to stderr and returns 1."""
    del node
    options = parse("info", args)
    with open_model(options.file, options.quantize or "") as file:
        if is_adapter(file.metadata):
            adapter = read_adapter_info(options.file)
            found = json.dumps(asdict(adapter)) if options.json else _table(adapter_rows(adapter))
            Output().write(f"{found}\n")
            return 0
        gpu = device_memory()
        own_memory = 0 if gpu is None or gpu.is_cpu else gpu.total
        info = read_info(file, options.context, own_memory)
    shown = _as_json if options.json else as_table
    Output().write(f"{shown(info, gpu, available_ram())}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(None, sys.argv[1:]))
