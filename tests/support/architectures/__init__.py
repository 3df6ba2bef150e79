"""Tiny models of every architecture, in float32: a module for each, with its `CASES`.

A case writes a model to a path and returns it. Each has other quirks of the architecture.
"""

import importlib
import pkgutil

import pytest
from _pytest.mark import ParameterSet

WITH_STEPS = (
    "ernie4_5",
    "exaone",
    "exaone4",
    "gemma",
    "gemma2",
    "gemma3",
    "gemma4",
    "glm4",
    "gpt_oss",
    "granite",
    "granitemoe",
    "internlm2",
    "llama",
    "mistral3",
    "mixtral",
    "phi3",
    "qwen2",
    "qwen3",
    "qwen3moe",
    "smollm3",
)
AS_DISPATCHES = (  # of these
    "gemma4, experts",
    "gemma4, experts, gates and ups apart",
    "glm4, biases",
    "granitemoe, an expert that all use",
)


def all_cases(*names: str) -> list[ParameterSet]:
    """What writes each case of these architectures, or of all, as pytest's parameters."""
    found = names or tuple(module.name for module in pkgutil.iter_modules(__path__))
    return [
        pytest.param(write, id=f"{name}, {case}")
        for name in found
        for case, write in importlib.import_module(f"{__name__}.{name}").CASES.items()
    ]
