"""Finds the architecture that a file asks for."""

from collections.abc import Callable
from dataclasses import dataclass

from llm.errors import ModelFileError, UnsupportedModelError
from llm.files.adapter import is_adapter
from llm.files.model_file import ModelFile
from llm.gpu.program import Program
from llm.models import (
    bert,
    cohere2,
    command_r,
    ernie4_5,
    exaone,
    exaone4,
    gemma,
    gemma2,
    gemma3,
    gemma3n,
    gemma4,
    gemma_embedding,
    glm4,
    gpt_oss,
    granite,
    granitemoe,
    internlm2,
    jina_bert_v2,
    lfm2,
    lfm2moe,
    llama,
    mistral3,
    nomic_bert,
    olmo2,
    olmoe,
    phi3,
    qwen2,
    qwen2moe,
    qwen3,
    qwen3moe,
    qwen3next,
    qwen35,
    qwen35moe,
    smollm3,
    stablelm,
    starcoder2,
)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one node asks of a model."""

    context: int  # most tokens of a sequence
    max_rows: int  # most tokens a run
    max_outputs: int  # most rows of logits a run


Build = Callable[[ModelFile, int, int, int], Program]

DECODERS: dict[str, Build] = {
    "cohere2": cohere2.program,
    "command-r": command_r.program,
    "ernie4_5": ernie4_5.program,
    "exaone": exaone.program,
    "exaone4": exaone4.program,
    "gemma": gemma.program,
    "gemma2": gemma2.program,
    "gemma3": gemma3.program,
    "gemma3n": gemma3n.program,
    "gemma4": gemma4.program,
    "glm4": glm4.program,
    "gpt-oss": gpt_oss.program,
    "granite": granite.program,
    "granitemoe": granitemoe.program,
    "internlm2": internlm2.program,
    "lfm2": lfm2.program,
    "lfm2moe": lfm2moe.program,
    "llama": llama.program,
    "mistral3": mistral3.program,
    "olmo2": olmo2.program,
    "olmoe": olmoe.program,
    "phi3": phi3.program,
    "qwen2": qwen2.program,
    "qwen2moe": qwen2moe.program,
    "qwen3": qwen3.program,
    "qwen35": qwen35.program,
    "qwen35moe": qwen35moe.program,
    "qwen3moe": qwen3moe.program,
    "qwen3next": qwen3next.program,
    "smollm3": smollm3.program,
    "stablelm": stablelm.program,
    "starcoder2": starcoder2.program,
}
ENCODERS: dict[str, Build] = {  # a vector for each row of a text, no tokens
    "bert": bert.program,
    "gemma-embedding": gemma_embedding.program,
    "jina-bert-v2": jina_bert_v2.program,
    "nomic-bert": nomic_bert.program,
}
ARCHITECTURES = {**DECODERS, **ENCODERS}


def make_program(file: ModelFile, limits: Limits) -> Program:
    """The program of a model file. Raises UnsupportedModelError, ModelFileError."""
    if is_adapter(file.metadata):
        problem = "is 'adapter': it changes a model, which is to be loaded; add it to the adapters"
        raise ModelFileError(file.path, "general.type", problem)
    name = file.metadata.str("general.architecture")
    build = ARCHITECTURES.get(name)
    if build is None:
        raise UnsupportedModelError(file.path, "general.architecture", name, ARCHITECTURES)
    return build(file, limits.context, limits.max_rows, limits.max_outputs)
