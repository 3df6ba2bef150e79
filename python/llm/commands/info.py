"""`./llm info FILE`: what a model file holds, and the memory that it will take. Needs no engine."""

import json
import os
import sys
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from llm.commands.arguments import parse
from llm.commands.output import Output, reports_errors
from llm.errors import printable
from llm.files.gguf import GgufFile
from llm.files.metadata import Metadata
from llm.files.repack import PLANES
from llm.files.wording import readable_size
from llm.models.registry import ARCHITECTURES

CONTEXT = 4096  # tokens that the memory is estimated for
_CACHE_BYTES = 2  # of a number in the key/value cache, which is float16


@dataclass(frozen=True, slots=True)
class FormatShare:
    """What one block format has of a file."""

    tensors: int
    parameters: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Facts of a file; None where it does not say. Sizes in bytes."""

    file: str
    file_bytes: int
    gguf_version: int
    architecture: str
    supported: bool  # architecture and block formats are among those that this build runs
    name: str | None
    parameters: int
    tensor_bytes: int
    formats: dict[str, FormatShare]  # the largest first
    context_length: int | None  # tokens that the model was trained for
    layers: int | None
    width: int | None
    heads: int | None
    kv_heads: int | None  # the most in any layer
    head_size: int | None
    vocabulary: int | None
    tokenizer: str | None
    chat_template: bool
    memory_context: int  # tokens that `cache_bytes` is for
    cache_bytes: int | None
    memory_bytes: int | None  # tensors and cache


def read_info(file: GgufFile) -> ModelInfo:
    """Raises ModelFileError where the file does not even name its architecture."""
    metadata = file.metadata
    architecture = metadata.str("general.architecture")

    def size(key: str) -> int | None:
        sizes = _sizes(metadata, f"{architecture}.{key}")
        return max(sizes) if sizes else None

    layers, width, heads = (
        size("block_count"),
        size("embedding_length"),
        size("attention.head_count"),
    )
    head_size = size("attention.key_length") or (width // heads if width and heads else None)
    context_length = size("context_length")
    context = min(CONTEXT, context_length or CONTEXT)
    kv_heads = _sizes(metadata, f"{architecture}.attention.head_count_kv") or [heads or 0]
    cache_bytes = None
    if layers and head_size and max(kv_heads):
        heads_of_all = sum(kv_heads) if len(kv_heads) > 1 else layers * kv_heads[0]
        both = head_size + (size("attention.value_length") or head_size)
        cache_bytes = heads_of_all * both * context * _CACHE_BYTES

    formats = _formats(file)
    tensor_bytes = sum(tensor.size for tensor in file.tensors.values())
    tokens = metadata.get("tokenizer.ggml.tokens")
    return ModelInfo(
        file=file.path,
        file_bytes=os.path.getsize(file.path),
        gguf_version=file.version,
        architecture=architecture,
        supported=architecture in ARCHITECTURES and set() < set(formats) <= set(PLANES),
        name=_text(metadata, "general.name"),
        parameters=sum(tensor.count for tensor in file.tensors.values()),
        tensor_bytes=tensor_bytes,
        formats=formats,
        context_length=context_length,
        layers=layers,
        width=width,
        heads=heads,
        kv_heads=max(kv_heads) or None,
        head_size=head_size,
        vocabulary=size("vocab_size") if tokens is None else len(tokens),
        tokenizer=_text(metadata, "tokenizer.ggml.model"),
        chat_template=bool(_text(metadata, "tokenizer.chat_template")),
        memory_context=context,
        cache_bytes=cache_bytes,
        memory_bytes=None if cache_bytes is None else tensor_bytes + cache_bytes,
    )


def _sizes(metadata: Metadata, key: str) -> list[int]:
    """A size, or one for each layer; empty where the file holds none that can be."""
    value = metadata.get(key)
    values: list[Any] = value.tolist() if isinstance(value, np.ndarray) else [value]
    return values if all(type(size) is int and 0 <= size < 2**31 for size in values) else []


def _text(metadata: Metadata, key: str) -> str | None:
    value = metadata.get(key)
    return value if isinstance(value, str) else None


def _formats(file: GgufFile) -> dict[str, FormatShare]:
    shares: dict[str, FormatShare] = {}
    for tensor in file.tensors.values():
        share = shares.get(tensor.format.name, FormatShare(0, 0, 0))
        shares[tensor.format.name] = FormatShare(
            share.tensors + 1, share.parameters + tensor.count, share.bytes + tensor.size
        )
    return dict(sorted(shares.items(), key=lambda item: -item[1].bytes))


def as_table(info: ModelInfo) -> str:
    """The facts as lines for a person."""
    rows: list[tuple[str, str | int | None]] = [
        ("file", info.file),
        ("size", f"{readable_size(info.file_bytes)}, GGUF version {info.gguf_version}"),
        ("architecture", info.architecture),
        ("runs here", "yes" if info.supported else "no"),
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
        ("chat template", "yes" if info.chat_template else "no"),
        ("weights", readable_size(info.tensor_bytes)),
    ]
    for name, share in info.formats.items():
        tensors = f"{share.tensors:,} tensor{'s' if share.tensors != 1 else ''}"
        rows.append((f"  {name}", f"{readable_size(share.bytes):>10}  in {tensors}"))
    if info.cache_bytes is not None and info.memory_bytes is not None:
        cache = f"the weights and {readable_size(info.cache_bytes)} of keys and values"
        memory = f"{readable_size(info.memory_bytes)} at {info.memory_context:,} tokens: {cache}"
        rows.append(("memory", memory))
    return "\n".join(f"{name:<17}{_shown(value)}" for name, value in rows)


def _shown(value: str | int | None) -> str:
    if value is None:
        return "not given"
    return f"{value:,}" if isinstance(value, int) else printable(value)


def _count(parameters: int) -> str:
    for scale, letter in ((10**9, "B"), (10**6, "M"), (10**3, "K")):
        if parameters >= scale:
            return f"{parameters / scale:.3g} {letter} ({parameters:,})"
    return str(parameters)


@reports_errors
def main(node: Any, args: list[str]) -> int:
    """Writes the facts to stdout and returns 0, or one line to stderr and returns 1."""
    del node
    options = parse("info", args)
    with GgufFile.open(options.file) as file:
        info = read_info(file)
    Output().write(f"{json.dumps(asdict(info)) if options.json else as_table(info)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(None, sys.argv[1:]))
