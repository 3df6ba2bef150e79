"""All families, by the `model_type` of config.json."""

from typing import Final

from llm.files.folder.families.encoders import BERT, NOMIC_BERT
from llm.files.folder.families.family import Family
from llm.files.folder.families.gemma import GEMMA, GEMMA2, GEMMA3, GEMMA3N, GEMMA_EMBEDDING
from llm.files.folder.families.gemma4 import GEMMA4
from llm.files.folder.families.gpt_oss import GPT_OSS
from llm.files.folder.families.lfm2 import LFM2
from llm.files.folder.families.qwen35 import QWEN3_5
from llm.files.folder.families.turning_neighbours import (
    GRANITE,
    GRANITEMOE,
    LLAMA,
    MINISTRAL,
    SMOLLM3,
)
from llm.files.metadata import Metadata

FAMILIES: Final[dict[str, Family]] = {
    "bert": BERT,
    "cohere": Family("command-r", fixed={"use_qk_norm": False}),
    "cohere2": Family("cohere2"),
    "ernie4_5": Family("ernie4_5"),
    "exaone": Family(
        "exaone",
        renamed={"num_layers": "num_hidden_layers", "layer_norm_epsilon": "rms_norm_eps"},
    ),
    "exaone4": Family("exaone4"),
    "gemma": GEMMA,
    "gemma2": GEMMA2,
    "gemma3": GEMMA3,
    "gemma3_text": GEMMA3,
    "gemma3n": GEMMA3N,
    "gemma3n_text": GEMMA3N,
    "gemma4": GEMMA4,
    "gemma4_text": GEMMA4,
    "glm4": Family("glm4", usual={"partial_rotary_factor": 0.5}),
    "gpt_oss": GPT_OSS,
    "granite": GRANITE,
    "granitemoe": GRANITEMOE,
    "granitemoeshared": GRANITEMOE,
    "lfm2": LFM2,
    "llama": LLAMA,
    "ministral3": MINISTRAL,
    "mistral": LLAMA,
    "mistral3": LLAMA,
    "mixtral": LLAMA,
    "nomic_bert": NOMIC_BERT,
    "olmo2": Family("olmo2"),
    "olmo3": Family("olmo2"),
    "olmoe": Family("olmoe", fixed={"norm_topk_prob": False, "clip_qkv": None}),
    "phi3": Family("phi3"),
    "qwen2": Family("qwen2"),
    "qwen2_moe": Family("qwen2moe", fixed={"norm_topk_prob": False}),
    "qwen3": Family("qwen3"),
    "qwen3_5": QWEN3_5,
    "qwen3_5_text": QWEN3_5,
    "qwen3_moe": Family("qwen3moe", fixed={"norm_topk_prob": True}),
    "smollm3": SMOLLM3,
    "stablelm": Family(
        "stablelm",
        usual={"partial_rotary_factor": 0.25},
        fixed={"use_parallel_residual": False, "qk_layernorm": False},
    ),
    "starcoder2": Family("starcoder2"),
}


def family_of(config: Metadata) -> Family | None:
    """None where the model type is not known."""
    found = FAMILIES.get(config.str("model_type"))
    if found is GEMMA3 and config.bool("use_bidirectional_attention", False):
        return GEMMA_EMBEDDING
    return found
