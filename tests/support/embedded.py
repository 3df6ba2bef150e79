"""Vectors of texts, as an embedding client makes them on the reference."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from support.manual_worker import ManualWorker

from llm.generate.embedding_client import EmbeddingClient
from llm.generate.events import Embedded
from llm.generate.model import load_model
from llm.generate.request import EmbeddingRequest, LoadSpec


def embed(
    path: Path, texts: Sequence[str], pooling: str, context: int, quantize: str = ""
) -> np.ndarray:
    """(N, C)"""
    worker = ManualWorker(load_model)
    client = EmbeddingClient(lambda: worker)
    request = EmbeddingRequest(1, tuple(texts), pooling)
    client.embed(request, LoadSpec(str(path), "reference", context, quantize))
    worker.run()
    [found] = [event for event in client.poll() if isinstance(event, Embedded)]
    client.close()
    return np.stack(found.vectors)


def lowest_cosine(first: np.ndarray, second: np.ndarray) -> float:
    return float((first.astype(np.float64) * second).sum(axis=1).min())
