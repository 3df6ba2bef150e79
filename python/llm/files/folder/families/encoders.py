"""BERT and Nomic Embed Text, whose settings have names of their own."""

from typing import Final

from llm.files.folder.changes import AS_FLOAT32
from llm.files.folder.families.family import Changes, Family
from llm.files.metadata import Metadata


def _changes(_config: Metadata) -> Changes:
    """Embeddings that are added, not looked up as those of tokens are."""
    return {"position_embd.weight": AS_FLOAT32, "token_types.weight": AS_FLOAT32}


BERT: Final = Family("bert", fixed={"position_embedding_type": "absolute"}, changes=_changes)
NOMIC_BERT: Final = Family(
    "nomic-bert",
    renamed={
        "n_embd": "hidden_size",
        "n_head": "num_attention_heads",
        "n_inner": "intermediate_size",
        "n_layer": "num_hidden_layers",
        "n_positions": "max_position_embeddings",
        "rotary_emb_base": "rope_theta",
        "rotary_emb_fraction": "partial_rotary_factor",
    },
    changes=_changes,
)
