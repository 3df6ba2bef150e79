"""config.json, as the metadata that a GGUF file of the model would hold."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from llm.errors import ModelFileError, UnsupportedModelError
from llm.files.folder.families.family import Family, head_size
from llm.files.folder.families.registry import FAMILIES, family_of
from llm.files.folder.rope import Floats, Rope
from llm.files.folder.sizes import is_by_layer, sizes
from llm.files.metadata import Metadata

_NEEDED: Final = ("num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads")
_QUANTISATIONS: Final = ("compressed-tensors", "fbgemm_fp8", "fp8", "modelopt", "mxfp4")
_BLOCK: Final = [128, 128]
_LARGEST_HEAD: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Config:
    family: Family
    settings: Metadata  # config.json's own, of the language model
    metadata: dict[str, Any]
    made: dict[str, Floats]  # vectors that GGUF holds and folders compute
    is_tied: bool  # the output is the embedding
    block: tuple[int, int]  # of 8-bit floats that share a scale: rows and columns
    token_ids: dict[str, int]  # "bos", "eos", "pad", where the file names one

    @classmethod
    def read(cls, path: str, found: Mapping[str, Any]) -> "Config":
        """`found` is what config.json at `path` holds. ModelFileError, UnsupportedModelError."""
        _refuse_quantisation(path, found)
        text = found.get("text_config")  # of models of several senses
        inner = text if isinstance(text, dict) else {}
        # What is null is not given.
        merged = {key: value for key, value in {**found, **inner}.items() if value is not None}
        family = family_of(Metadata(merged, path))
        if family is None:
            raise UnsupportedModelError(path, "model_type", merged["model_type"], FAMILIES)
        named = {new: merged[old] for old, new in family.renamed.items() if old in merged}
        settings = Metadata({**family.usual, **merged, **named}, path)
        for key, value in family.fixed.items():
            if settings.get(key, value) != value:
                raise UnsupportedModelError(path, key, settings[key], [str(value)])
        further = family.settings(settings)
        for key in _NEEDED:
            if not is_by_layer(settings.get(key)):
                settings.int(key, minimum=1)
        size = head_size(settings)
        if size > _LARGEST_HEAD:
            problem = f"is {size:,}, but may be {_LARGEST_HEAD:,} at most"
            raise ModelFileError(path, "head_dim", problem)
        rope = Rope.read(settings)
        values = {**sizes(settings, size), **rope.values(size), **further}
        metadata = {f"{family.architecture}.{key}": value for key, value in values.items()}
        metadata["general.architecture"] = family.architecture
        metadata["general.name"] = os.path.basename(os.path.dirname(os.path.abspath(path)))
        return cls(
            family,
            settings,
            metadata,
            rope.vectors(size),
            settings.bool("tie_word_embeddings", False),
            _block(path, found),
            _token_ids(settings),
        )


def _refuse_quantisation(path: str, found: Mapping[str, Any]) -> None:
    method = _quantisation(found).get("quant_method", "fp8")
    if method not in _QUANTISATIONS:
        key = "quantization_config.quant_method"
        raise UnsupportedModelError(path, key, method, [*_QUANTISATIONS, "folders without it"])


def _block(path: str, found: Mapping[str, Any]) -> tuple[int, int]:
    block = _quantisation(found).get("weight_block_size") or _BLOCK
    key = "quantization_config.weight_block_size"
    is_pair = isinstance(block, list) and len(block) == 2
    if not is_pair or not all(type(side) is int and 0 < side <= 1 << 16 for side in block):
        raise ModelFileError(path, key, "is not two whole numbers from 1 to 65,536")
    return block[0], block[1]


def _quantisation(found: Mapping[str, Any]) -> Mapping[str, Any]:
    value = found.get("quantization_config")
    return value if isinstance(value, dict) else {}


def _token_ids(config: Metadata) -> dict[str, int]:
    """Of several ends of a text the first."""
    ids = {role: config.get(f"{role}_token_id") for role in ("bos", "eos", "pad")}
    firsts = {role: id[0] if isinstance(id, list) and id else id for role, id in ids.items()}
    return {role: id for role, id in firsts.items() if type(id) is int and id >= 0}
