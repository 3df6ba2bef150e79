"""Logits after each token of a text that a model reads in pieces."""

from collections.abc import Sequence

import numpy as np

from llm.generate.model import Model


def logits_of(model: Model, tokens: Sequence[int], pieces: Sequence[int]) -> np.ndarray:
    """(positions, V); a piece of 1 is what a decoded token runs as."""
    found, start = [], 0
    for count in pieces:
        model.forward(tokens[start : start + count], start, range(count))
        found.append(model.logits().copy())
        start += count
    assert start == len(tokens)
    return np.concatenate(found)
