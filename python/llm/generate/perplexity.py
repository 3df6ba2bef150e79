"""Perplexity as llama.cpp defines it, and the logits behind it.

The text is cut into chunks of equal length; each starts with BOS where the file wants one, and is
scored on its second half, so that every scored token has half a chunk of context. The perplexity
is the exponential of the mean negative log likelihood.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from llm.errors import RequestError
from llm.generate.model import Model
from llm.gpu.program import Floats

CHUNK_TOKENS = 512


@dataclass(frozen=True, slots=True)
class ChunkScore:
    """One chunk: its logits by position, and the likelihood of its second half."""

    logits: Floats  # (chunk, V)
    negative_log_likelihoods: np.ndarray  # (scored,), nats


@dataclass(frozen=True, slots=True)
class Perplexity:
    value: float
    error: float  # standard error of the value
    tokens_scored: int


def chunk_length(tokens: int, context_length: int) -> int:
    """Tokens a chunk: 512, or what the text or the context hold. RequestError below 4 tokens."""
    if tokens < 4:
        raise RequestError(f"the text has {tokens} tokens; a perplexity needs 4 or more")
    return min(CHUNK_TOKENS, tokens, context_length)


def score_chunks(model: Model, tokens: list[int]) -> Iterator[ChunkScore]:
    """Scores each whole chunk of `tokens`, which hold no BOS but the first."""
    length = chunk_length(len(tokens), model.context_length)
    for start in range(0, len(tokens) - length + 1, length):
        chunk = tokens[start : start + length]
        if model.tokenizer.add_bos and model.tokenizer.bos_id is not None:
            chunk[0] = model.tokenizer.bos_id
        logits = _logits_of(model, chunk)  # (chunk, V)
        scored = slice(length // 2, length - 1)
        targets = np.asarray(chunk[length // 2 + 1 :])
        yield ChunkScore(logits, _negative_log_likelihoods(logits[scored], targets))


def perplexity(negative_log_likelihoods: np.ndarray) -> Perplexity:
    """From nats a token to the perplexity and its standard error."""
    count = len(negative_log_likelihoods)
    mean = float(np.mean(negative_log_likelihoods))
    spread = float(np.std(negative_log_likelihoods, ddof=1)) if count > 1 else 0.0
    value = math.exp(mean)
    return Perplexity(value, value * spread / math.sqrt(count), count)


def _logits_of(model: Model, chunk: list[int]) -> Floats:
    parts = []
    for start in range(0, len(chunk), model.chunk_size):
        ids = chunk[start : start + model.chunk_size]
        model.forward(ids, start, range(len(ids)))
        parts.append(model.logits())
    return np.concatenate(parts)


def _negative_log_likelihoods(logits: Floats, targets: np.ndarray) -> np.ndarray:
    """(n, V) logits and (n,) ids to (n,) nats, through a log-sum-exp in float64."""
    shifted = (logits - logits.max(axis=1, keepdims=True)).astype(np.float64)
    total = np.log(np.exp(shifted).sum(axis=1))
    chosen = np.take_along_axis(shifted, targets[:, None], axis=1)[:, 0]
    result: np.ndarray = total - chosen
    return result
