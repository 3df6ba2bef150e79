"""The facts of a LoRA adapter's file."""

from dataclasses import dataclass

from llm.files.adapter import AdapterFile
from llm.files.wording import readable_size


@dataclass(frozen=True, slots=True)
class AdapterInfo:
    file: str
    kind: str  # of file
    file_bytes: int
    name: str | None
    architecture: str  # of the models that it may be made for
    adapter: str  # its type
    alpha: float
    rank: int  # the largest
    matrices: int  # of the model, that it changes
    tensors: int  # of theirs
    parameters: int


def read_adapter_info(path: str) -> AdapterInfo:
    """Raises ModelFileError, UnsupportedModelError where it is none that this build runs."""
    file = AdapterFile.open(path)
    pairs = file.pairs.values()
    return AdapterInfo(
        file=path,
        kind=file.kind,
        file_bytes=file.size,
        name=file.name or None,
        architecture=file.architecture,
        adapter="lora",
        alpha=file.alpha,
        rank=file.rank,
        matrices=len(pairs),
        tensors=2 * len(pairs),
        parameters=sum(pair.a.count + pair.b.count for pair in pairs),
    )


def adapter_rows(info: AdapterInfo) -> list[tuple[str, str | int | None]]:
    """Names and values, for people."""
    return [
        ("file", info.file),
        ("kind", f"LoRA adapter, {info.kind}, {readable_size(info.file_bytes)}"),
        ("name", info.name),
        ("architecture", f"{info.architecture}, of the model that it changes"),
        ("rank", info.rank),
        ("alpha", f"{info.alpha:g}" if info.alpha else None),
        ("tensors", f"{info.tensors:,}, of {info.matrices:,} matrices"),
        ("parameters", info.parameters),
    ]
