"""Gemma 1 to 3n: norms get their one, but for those of 3n, which hold it."""

from collections.abc import Mapping
from typing import Any, Final

from llm.errors import UnsupportedModelError
from llm.files.folder.changes import PLUS_ONE, Change
from llm.files.folder.families.family import Changes, Family, layer_types
from llm.files.metadata import Metadata

# What files leave out. Source: transformers, the models' configuration classes.
_GEMMA3_USUAL: Final = {
    "head_dim": 256,
    "max_position_embeddings": 131_072,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1e6,
}


def _changes(_config: Metadata) -> Changes:
    return {"norm.weight": PLUS_ONE}


GEMMA: Final = Family("gemma", changes=_changes)
GEMMA2: Final = Family("gemma2", changes=_changes)
GEMMA3: Final = Family("gemma3", usual=_GEMMA3_USUAL, changes=_changes)
# Such a folder has the model type of Gemma 3, and says `use_bidirectional_attention`.
GEMMA_EMBEDDING: Final = Family("gemma-embedding", usual=_GEMMA3_USUAL, changes=_changes)


def _gemma3n(config: Metadata) -> Mapping[str, Any]:
    """GGUF has no keys for what is the same in both models, and has to be so here."""
    kinds = layer_types(config)
    own = config.int("num_hidden_layers") - config.int("num_kv_shared_layers", 15)
    if own != 20:
        found = f"{own} layers with keys of their own"
        raise UnsupportedModelError(config.path, "num_kv_shared_layers", found, ["20 of them"])
    regular = all((kind == "full_attention") == (n % 5 == 4) for n, kind in enumerate(kinds))
    if not regular:
        wanted = ["every fifth one full_attention"]
        raise UnsupportedModelError(config.path, "layer_types", "irregular", wanted)
    return {}


def _gemma3n_changes(config: Metadata) -> Changes:
    """Tokens that stand for images and sound have no embeddings of layers."""
    return {"per_layer_token_embd.weight": Change(height=config.int("vocab_size", 0))}


GEMMA3N: Final = Family(
    "gemma3n",
    changes=_gemma3n_changes,
    usual={"rope_theta": 1e6, "rope_local_base_freq": 1e4, "rms_norm_eps": 1e-6, "head_dim": 256},
    settings=_gemma3n,
)
