"""How a model file wants one vector made of a text's hidden rows."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llm.files.metadata import Metadata

POOLINGS = MEAN, FIRST, LAST = ("mean", "first", "last")
RANK = "rank"  # scores pairs of texts with a head that we do not run
# `{architecture}.pooling_type`, as llama.cpp numbers them; one vector a token is of no use to us.
_STORED = (MEAN, MEAN, FIRST, LAST, RANK)


def pooling_of(metadata: "Metadata") -> str:
    """One of POOLINGS, or RANK; the mean where the file says nothing. Raises ModelFileError."""
    architecture = metadata.str("general.architecture")
    key = f"{architecture}.pooling_type"
    return _STORED[metadata.int(key, 0, maximum=len(_STORED) - 1)]
