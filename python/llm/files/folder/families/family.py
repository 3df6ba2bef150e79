"""What a `model_type` of config.json means."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from llm.files.folder.changes import Change
from llm.files.metadata import Metadata

Changes = Mapping[str, Change]


def _nothing(_config: Metadata) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True, slots=True)
class Family:
    """Functions get config.json, with `usual` below it. What they raise is a ModelFileError."""

    architecture: str  # `general.architecture` of files of the same model
    usual: Mapping[str, Any] = field(default_factory=dict)  # what config.json may leave out
    renamed: Mapping[str, str] = field(default_factory=dict)  # settings that have another name
    # Settings that no key of GGUF has: what they must be where config.json gives them.
    fixed: Mapping[str, Any] = field(default_factory=dict)
    # Metadata that config.json says in a way of its own: GGUF's keys without the architecture.
    settings: Callable[[Metadata], Mapping[str, Any]] = _nothing
    # What becomes of tensors, by GGUF's name without the block; "norm.weight" is of all norms.
    changes: Callable[[Metadata], Changes] = _nothing
    # Tensors that GGUF's own tables do not know, or that make several: by the name in the block.
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def head_size(config: Metadata) -> int:
    """D"""
    heads = config.int("num_attention_heads", minimum=1)
    if "global_head_dim" in config:  # of layers that see everything
        return config.int("global_head_dim")
    return config.int("head_dim", config.int("hidden_size") // heads)


def layer_types(config: Metadata) -> list[str]:
    """The kind of each layer; an empty list where config.json does not say."""
    found = config.get("layer_types")
    if not isinstance(found, list) or not all(isinstance(kind, str) for kind in found):
        return []
    return found
