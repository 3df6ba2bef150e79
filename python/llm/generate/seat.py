"""A client's place at a loaded model: its sequence, and answers made from it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from llm.errors import LLMError
from llm.generate.answer import Answer, Steps
from llm.generate.cache_files import load_cache, save_cache
from llm.generate.embedding import Embedding
from llm.generate.events import Event
from llm.generate.request import EmbeddingRequest, LoadCache, Request, SaveCache
from llm.generate.xray import AttentionXray, LayersXray

if TYPE_CHECKING:
    from llm.generate.model import Model


class Seat:
    def __init__(self, model: "Model", context_length: int) -> None:
        """For conversations of up to so many tokens, or as many as the model takes.

        Raises RequestError where the model has no more room for a sequence.
        """
        self.model = model
        self.context_length = min(context_length, model.context_length)
        self._sequence = model.sequences.open()

    def answer(self, request: Request, emit: Callable[[Event], None]) -> Steps:
        """Steps that answer; see `Answer` for what is emitted."""
        return Answer(self._sequence, self.context_length, request, emit).run()

    def save_cache(self, job: SaveCache) -> Steps:
        """Steps that write what its sequence holds. Raises LLMError."""
        yield from save_cache(self._sequence, job.path, job.state)

    def load_cache(self, job: LoadCache) -> Steps:
        """Steps after which its sequence is what a file holds. Raises LLMError."""
        self._sequence.adapt(job.adapters)
        yield from load_cache(self._sequence, job.path, self.context_length)

    def embed(self, request: EmbeddingRequest, emit: Callable[[Event], None]) -> Steps:
        """Steps that make vectors; see `Embedding` for what is emitted."""
        return Embedding(self._sequence, self.context_length, request, emit).run()

    def attention(self, position: int, layer: int) -> AttentionXray:
        """What a layer's heads looked at, at a token of its sequence."""
        try:
            return AttentionXray(position, layer, self._sequence.attention(position, layer))
        except LLMError as problem:
            return AttentionXray(position, layer, error=str(problem))

    def layers(self) -> LayersXray:
        """What each part of the model takes for one more token."""
        try:
            return LayersXray(len(self._sequence), tuple(self._sequence.profile_parts()))
        except LLMError as problem:
            return LayersXray(len(self._sequence), error=str(problem))

    def forget(self) -> None:
        """The next answer computes its whole prompt."""
        self._sequence.clear()

    def close(self) -> None:
        """Gives its place up. The model stays."""
        self._sequence.close()
