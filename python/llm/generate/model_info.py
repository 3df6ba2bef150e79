"""The facts of a model file, and the memory that it will take here."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from llm.errors import LLMError
from llm.files.metadata import Metadata
from llm.files.model_file import ModelFile
from llm.files.repack import check_packable
from llm.gpu.executors import CPU_ROWS, MATRIX_ROWS
from llm.gpu.footprint import on_gpu, on_numpy
from llm.gpu.host_tables import fit_memory
from llm.gpu.program import ROWS_APART, Program
from llm.models.registry import Limits, make_program
from llm.text.template_family import template_family

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
    kind: str  # of file
    file_bytes: int
    architecture: str
    problem: str | None  # why this build does not run it, in one line
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
    chat_template: str | None  # its family
    memory_context: int  # tokens that the sizes below are for
    cache_bytes: int | None
    gpu_bytes: int | None  # weights, cache and activations; of a file that does not run, a guess
    table_bytes: int  # of per-layer embeddings: among those of the GPU, or else in RAM
    tables_on_gpu: bool
    numpy_bytes: int | None  # the same on the reference executor; None where it does not run

    @property
    def supported(self) -> bool:
        return self.problem is None


def read_info(file: ModelFile, context: int, gpu_memory: int) -> ModelInfo:
    """`context` are the tokens that memory is wanted for; more than the model knows are not.
    `gpu_memory` are the bytes of a GPU's own memory; 0 where there is none.

    Raises ModelFileError where the file does not even name its architecture.
    """
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
    context = min(context, context_length or context)
    kv_heads = _sizes(metadata, f"{architecture}.attention.head_count_kv") or [heads or 0]
    cache_bytes = None
    if layers and head_size and max(kv_heads):
        heads_of_all = sum(kv_heads) if len(kv_heads) > 1 else layers * kv_heads[0]
        both = head_size + (size("attention.value_length") or head_size)
        cache_bytes = heads_of_all * both * context * _CACHE_BYTES

    tensor_bytes = sum(tensor.size for tensor in file.tensors.values())
    gpu_bytes = None if cache_bytes is None else tensor_bytes + cache_bytes
    numpy_bytes, problem = None, None
    table_bytes, tables_on_gpu = 0, False
    try:
        program = _program(file, context, MATRIX_ROWS)
        table_bytes = sum(table.size for table in program.tables)
        tables_on_gpu = table_bytes > 0 and fit_memory(program, gpu_memory)
        program = replace(program, tables_in_ram=not tables_on_gpu)
        gpu = on_gpu(program)
        cache_bytes, gpu_bytes = gpu.cache, gpu.total
        numpy_bytes = on_numpy(_program(file, context, CPU_ROWS)).total
    except LLMError as error:
        problem = str(error).removeprefix(f"{file.path}: ")
    tokens = metadata.get("tokenizer.ggml.tokens")
    return ModelInfo(
        file=file.path,
        kind=file.kind,
        file_bytes=file.size,
        architecture=architecture,
        problem=problem,
        name=_text(metadata, "general.name"),
        parameters=sum(tensor.count for tensor in file.tensors.values()),
        tensor_bytes=tensor_bytes,
        formats=_formats(file),
        context_length=context_length,
        layers=layers,
        width=width,
        heads=heads,
        kv_heads=max(kv_heads) or None,
        head_size=head_size,
        vocabulary=size("vocab_size") if tokens is None else len(tokens),
        tokenizer=_text(metadata, "tokenizer.ggml.model"),
        chat_template=template_family(_text(metadata, "tokenizer.chat_template") or ""),
        memory_context=context,
        cache_bytes=cache_bytes,
        gpu_bytes=gpu_bytes,
        table_bytes=table_bytes,
        tables_on_gpu=tables_on_gpu,
        numpy_bytes=numpy_bytes,
    )


def _program(file: ModelFile, context: int, rows: int) -> Program:
    """As a load makes it. Raises LLMError where kernels cannot read a weight, too."""
    program = make_program(file, Limits(context, min(rows, context), ROWS_APART))
    for weight in program.weights:
        check_packable(file.path, weight.name, weight.format)
    return program


def _sizes(metadata: Metadata, key: str) -> list[int]:
    """A size, or one for each layer; empty where the file holds none that can be."""
    value = metadata.get(key)
    values: list[Any] = value.tolist() if isinstance(value, np.ndarray) else [value]
    return values if all(type(size) is int and 0 <= size < 2**31 for size in values) else []


def _text(metadata: Metadata, key: str) -> str | None:
    value = metadata.get(key)
    return value if isinstance(value, str) else None


def _formats(file: ModelFile) -> dict[str, FormatShare]:
    shares: dict[str, FormatShare] = {}
    for tensor in file.tensors.values():
        share = shares.get(tensor.format.name, FormatShare(0, 0, 0))
        shares[tensor.format.name] = FormatShare(
            share.tensors + 1, share.parameters + tensor.count, share.bytes + tensor.size
        )
    return dict(sorted(shares.items(), key=lambda item: -item[1].bytes))
