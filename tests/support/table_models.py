"""The models of the table in docs/models.md: tiny ones of every architecture, in every format.

A tiny model's module in tests/support/architectures writes it in float32. Here its rows become as
long as the largest blocks, and its matrices are random blocks of a format.
"""

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from gguf import GGML_QUANT_SIZES, quants
from gguf import GGMLQuantizationType as Type
from support import architectures
from support.architectures import AS_DISPATCHES, WITH_STEPS
from support.gguf_copy import Contents, Tensors
from support.random_model import random_matrix
from support.table_formats import FORMATS, stored_as
from support.tiny_encoders import ENCODERS

Sizes = Mapping[int, int]

# Each size of the tiny models that has another here.
DECODER = {160: 256, 384: 512, 416: 512, 832: 1024, 224: 320, 96: 256, 320: 512, 5: 8, 6: 8}
ENCODER = {160: 256, 480: 768, 416: 512, 832: 1024, 384: 512, 5: 8, 6: 8}
QWEN_35 = {96: 256, 160: 256, 320: 512, 40: 64, 80: 128, 64: 256}
LFM = {96: 256, 24: 128, 48: 256, 288: 768, 224: 256, 4: 2}
GEMMA_4 = {160: 256, 384: 768, 768: 1536, 6: 12, 224: 256, 416: 512, 32: 256}
GEMMA_4_EXPERTS = {160: 256, 384: 512, 768: 1024, 6: 8, 3: 8, 192: 512, 96: 256, 288: 512}

SIZED = (  # keys that state such a size
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.value_length",
    "embedding_length",
    "embedding_length_per_layer_input",
    "expert_feed_forward_length",
    "expert_shared_feed_forward_length",
    "feed_forward_length",
)


# What is compared as steps: see step_cells().
ALL_AS_STEPS = ("llama", "qwen3moe")
MOSTLY = ("f16", "q8_0", "Q4_K_M")


@dataclass(frozen=True)
class Chosen:
    """A case of an architecture, with further arguments of what writes it."""

    case: str = ""  # the first
    sizes: Sizes = field(default_factory=lambda: DECODER)
    arguments: Mapping[str, Any] = field(default_factory=dict)


# With these heads the values of all are a row of blocks.
DELTA = Chosen(sizes=QWEN_35, arguments={"value_heads": 8, "key_heads": 2, "state_size": 32})
CHOSEN: dict[str, tuple[Chosen, ...]] = {  # where it is not the first case, or has other sizes
    "gemma3n": (Chosen(sizes={96: 256, 192: 256, 224: 256, 6: 8}),),
    "gemma4": (
        Chosen("per-layer embeddings, shared keys and values", {**GEMMA_4, 288: 2304}),
        Chosen("values made of keys, no per-layer embeddings", {**GEMMA_4, 288: 512}),
        Chosen("experts", GEMMA_4_EXPERTS),
        Chosen("experts, gates and ups apart", GEMMA_4_EXPERTS),
    ),
    "granitemoe": (
        Chosen("scales"),
        Chosen("an expert that all use", {**DECODER, 128: 512, 64: 256, 6: 2}),
    ),
    "lfm2": (Chosen(sizes=LFM),),
    "lfm2moe": (Chosen(sizes={**LFM, 64: 256}),),
    "mistral3": (Chosen("queries that grow"),),
    "phi3": (Chosen("a long context"),),
    "qwen2moe": (Chosen(sizes={**DECODER, 64: 256}),),
    "qwen35": (DELTA,),
    "qwen35moe": (DELTA,),
    "qwen3next": (DELTA,),
    "stablelm": (Chosen("biases"),),
}


@dataclass(frozen=True, eq=False)
class TableModel:
    architecture: str  # its module
    write: Callable[[Path], Path]
    sizes: Sizes

    @property
    def columns(self) -> tuple[str, ...]:
        """The formats, and the mixes that there are of such models."""
        return (*FORMATS, "Q4_K_M", *(["MXFP4_MOE"] if self.architecture == "gpt_oss" else []))

    def write_as(self, column: str, path: Path) -> Path:
        """In the formats of a column."""
        return _widened(self).write(path, self._tensors(column))

    def write_expanded(self, column: str, path: Path) -> Path:
        """In float32: the numbers that those blocks stand for."""
        tensors = {
            name: (quants.dequantize(data, kind).astype(np.float32), Type.F32)
            for name, (data, kind) in self._tensors(column).items()
        }
        return _widened(self).write(path, tensors)

    def _tensors(self, column: str) -> Tensors:
        source = np.random.default_rng(7)
        found = dict(_widened(self).tensors)
        tensors: dict[str, tuple[np.ndarray, Type]] = {}
        for name, data in found.items():
            kind = stored_as(column, name, found) if data.ndim > 1 else None
            if kind and data.shape[-1] % GGML_QUANT_SIZES[kind][0]:
                pytest.fail(f"{name}: rows of {data.shape[-1]} are not whole blocks; see CHOSEN")
            made = data if kind is None else random_matrix(source, data.shape, kind)
            tensors[name] = (made, kind or Type.F32)
        return tensors


@lru_cache(maxsize=1)  # tests take a model's columns one after another
def _widened(model: TableModel) -> Contents:
    with TemporaryDirectory() as folder:
        contents = Contents.of(model.write(Path(folder) / "tiny.gguf"))

    def wider(value: Any) -> Any:
        if isinstance(value, list):
            return [wider(part) for part in value]
        return model.sizes.get(value, value)

    metadata = {
        key: (wider(value), kind) if key.partition(".")[2] in SIZED else (value, kind)
        for key, (value, kind) in contents.metadata.items()
    }
    tensors = {
        name: np.resize(data, [wider(size) for size in data.shape])
        for name, data in contents.tensors.items()
    }
    return replace(contents, metadata=metadata, tensors=tensors)


def _models() -> dict[str, TableModel]:
    modules = {module.name for module in pkgutil.iter_modules(architectures.__path__)}
    found = {}
    for name in sorted(modules):
        cases = import_module(f"{architectures.__name__}.{name}").CASES
        for chosen in CHOSEN.get(name, (Chosen(),)):
            case = chosen.case or next(iter(cases))
            write = partial(cases[case], **chosen.arguments)
            found[f"{name}, {case}"] = TableModel(name, write, chosen.sizes)
    return found


DECODERS = _models()
ENCODING = {  # the plain ones
    name: TableModel(name.replace("-", "_"), write, ENCODER)
    for name, write in ENCODERS.items()
    if "," not in name
}


def cells(models: Mapping[str, TableModel]) -> list[tuple[str, str]]:
    """Names of models, each with the names of its columns."""
    return [(name, column) for name, model in models.items() for column in model.columns]


def step_cells() -> list[tuple[str, str]]:
    """Of those that run as steps: all formats of two models, of the others what files mostly are.

    A kernel of steps is made for each model and format, and takes some seconds.
    """
    return [
        (name, column)
        for name, column in cells(DECODERS)
        if DECODERS[name].architecture in WITH_STEPS
        and name not in AS_DISPATCHES
        and (DECODERS[name].architecture in ALL_AS_STEPS or column in MOSTLY)
    ]
