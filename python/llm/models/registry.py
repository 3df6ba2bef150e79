"""Finds the architecture that a file asks for."""

from collections.abc import Callable
from dataclasses import dataclass

from llm.errors import UnsupportedModelError
from llm.files.model_file import ModelFile
from llm.gpu.program import Program
from llm.models import (
    bert,
    ernie4_5,
    exaone,
    exaone4,
    gemma,
    gemma2,
    gemma3,
    gemma_embedding,
    glm4,
    granite,
    internlm2,
    jina_bert_v2,
    llama,
    mistral3,
    nomic_bert,
    olmo2,
    phi3,
    qwen2,
    qwen3,
    smollm3,
)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one node asks of a model."""

    context: int  # most tokens of a sequence
    max_rows: int  # most tokens a run
    max_outputs: int  # most rows of logits a run


ARCHITECTURES: dict[str, Callable[[ModelFile, int, int, int], Program]] = {
    "bert": bert.program,
    "ernie4_5": ernie4_5.program,
    "exaone": exaone.program,
    "exaone4": exaone4.program,
    "gemma": gemma.program,
    "gemma2": gemma2.program,
    "gemma3": gemma3.program,
    "gemma-embedding": gemma_embedding.program,
    "glm4": glm4.program,
    "granite": granite.program,
    "internlm2": internlm2.program,
    "jina-bert-v2": jina_bert_v2.program,
    "llama": llama.program,
    "mistral3": mistral3.program,
    "nomic-bert": nomic_bert.program,
    "olmo2": olmo2.program,
    "phi3": phi3.program,
    "qwen2": qwen2.program,
    "qwen3": qwen3.program,
    "smollm3": smollm3.program,
}


def make_program(file: ModelFile, limits: Limits) -> Program:
    """The program of a model file. Raises UnsupportedModelError, ModelFileError."""
    name = file.metadata.str("general.architecture")
    build = ARCHITECTURES.get(name)
    if build is None:
        raise UnsupportedModelError(file.path, "general.architecture", name, ARCHITECTURES)
    return build(file, limits.context, limits.max_rows, limits.max_outputs)
