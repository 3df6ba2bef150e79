"""What people are told of a model file: by `./llm info`, in the editor and in games."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from llm.errors import printable
from llm.files.adapter import is_adapter
from llm.files.opening import open_model
from llm.files.wording import readable_size
from llm.generate.adapter_info import AdapterInfo, adapter_rows, read_adapter_info
from llm.generate.model_info import ModelInfo, read_info
from llm.gpu.device.vulkan_memory import DeviceMemory

Row = tuple[str, str | int | None]  # a name, and what is known of it


@dataclass(frozen=True, slots=True)
class Machine:
    """What models run on: the GPU, and the bytes of RAM that can be had, where that is known."""

    gpu: DeviceMemory | None
    ram: int | None


@dataclass(frozen=True, slots=True)
class FileReport:
    info: ModelInfo | AdapterInfo
    rows: list[Row]  # for people
    facts: dict[str, Any]  # for programs
    fits: bool | None  # whether it will load here; None where that is not known


def read_report(path: str, context: int, quantize: str, machine: Machine) -> FileReport:
    """As `read_info`. Raises ModelFileError, and UnsupportedModelError of an adapter that does not
    run."""
    with open_model(path, quantize) as file:
        if is_adapter(file.metadata):
            adapter = read_adapter_info(path)
            return FileReport(adapter, list(adapter_rows(adapter)), asdict(adapter), None)
        gpu = machine.gpu
        own_memory = 0 if gpu is None or gpu.is_cpu else gpu.total
        info = read_info(file, context, own_memory)
    facts = asdict(info) | {"supported": info.supported, "available_ram": machine.ram}
    facts["gpu"] = None if gpu is None else asdict(gpu)
    return FileReport(info, _rows(info, machine), facts, _fits_here(info, machine))


def as_table(rows: Sequence[Row]) -> str:
    """Lines for a terminal."""
    return "\n".join(f"{name:<17}{shown(value)}" for name, value in rows)


def shown(value: str | int | None) -> str:
    """On one line, whatever a file says."""
    if value is None:
        return "not given"
    return f"{value:,}" if isinstance(value, int) else printable(value)


def _rows(info: ModelInfo, machine: Machine) -> list[Row]:
    rows: list[Row] = [
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
        rows.append(("  on the GPU", _on_gpu(info.gpu_bytes, machine)))
    if info.table_bytes:
        where = "on the GPU" if info.tables_on_gpu else "in RAM, beside that: the file, mapped"
        rows.append(("  per layer", f"{readable_size(info.table_bytes)} of embeddings, {where}"))
    if info.numpy_bytes is not None:
        on_numpy = _verdict(info.numpy_bytes, machine.ram, "of RAM are available")
        rows.append(("  on numpy", on_numpy))
    return rows


def _on_gpu(needed: int, machine: Machine) -> str:
    gpu = machine.gpu
    if gpu is None:
        return "no Vulkan device was found"
    available = _available_to(gpu, machine)
    if gpu.is_cpu:
        return _verdict(needed, available, f"of RAM are available to {gpu.device}")
    of_all = "" if gpu.free is None else f" of {readable_size(gpu.total)} are free"
    return _verdict(needed, available, f"{of_all.strip() or 'are there'} on {gpu.device}")


def _available_to(gpu: DeviceMemory, machine: Machine) -> int | None:
    if gpu.is_cpu:
        return machine.ram
    return gpu.total if gpu.free is None else gpu.free


def _verdict(needed: int, available: int | None, where: str) -> str:
    if available is None:
        return f"takes {readable_size(needed)}; this system does not say how much there is"
    verdict = "fits" if needed <= available else "does not fit"
    return f"{verdict}: takes {readable_size(needed)}, {readable_size(available)} {where}"


def _fits_here(info: ModelInfo, machine: Machine) -> bool | None:
    """Where a load of itself would put it: the GPU if there is one."""
    if machine.gpu is None:
        needed, available = info.numpy_bytes, machine.ram
    else:
        needed, available = info.gpu_bytes, _available_to(machine.gpu, machine)
    if not info.supported or needed is None or available is None:
        return None
    return needed <= available


def _count(parameters: int) -> str:
    for scale, letter in ((10**9, "B"), (10**6, "M"), (10**3, "K")):
        if parameters >= scale:
            return f"{parameters / scale:.3g} {letter} ({parameters:,})"
    return str(parameters)
