"""Makes vectors of texts, as a generator: each step runs a chunk of one text.

Once the generator has been started, one `Embedded` or `Ended` is emitted whatever happens: at its
end, on an error, or when it is closed between two steps, which is what cancels it.
"""

import traceback
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from llm.errors import LLMError, NumericError, RequestError, printable
from llm.generate.events import CANCELLED, ERROR, Embedded, Ended, Event
from llm.generate.request import AUTO, EmbeddingRequest
from llm.generate.sequence import CachedSequence
from llm.gpu.program import Floats
from llm.models.pooling import FIRST, LAST, MEAN, RANK

if TYPE_CHECKING:
    from llm.generate.answer import Steps

Doubles = NDArray[np.float64]


class Embedding:
    """One request. While it runs, `sequence` holds the text that is being embedded."""

    def __init__(
        self,
        sequence: CachedSequence,
        context_length: int,
        request: EmbeddingRequest,
        emit: Callable[[Event], None],
    ) -> None:
        self._model = sequence.model
        self._sequence = sequence
        self._context_length = context_length
        self._request = request
        self._emit = emit
        asked = request.pooling
        self._pooling = self._model.pooling if asked == AUTO else asked

    def run(self) -> "Steps":
        end: Event = Ended(self._request.id, CANCELLED, "")  # as long as nothing else happened
        self._sequence.is_busy = True
        try:
            vectors = yield from self._embed_texts()
            source = f"{self._model.name}, {self._pooling}"
            end = Embedded(self._request.id, vectors, source)
        except LLMError as problem:
            end = Ended(self._request.id, ERROR, "", error=str(problem))
        except Exception as problem:  # our own fault: it ends this request and nobody else's
            error = printable(f"{type(problem).__name__}: {problem}")
            details = traceback.format_exc()
            end = Ended(self._request.id, ERROR, "", error=error, details=details)
        finally:
            self._sequence.is_busy = False
            self._sequence.clear()  # the pages are of use to others
            self._emit(end)

    def _embed_texts(self) -> "Generator[None, list[int], tuple[Floats, ...]]":
        if self._pooling == RANK:
            raise RequestError(
                f"{self._model.name} is made to compare texts, not to embed them; set pooling to "
                f"{MEAN}, {FIRST} or {LAST} to do so all the same"
            )
        texts = [self._encode(index) for index in range(len(self._request.texts))]
        vectors = []
        for ids in texts:
            vectors.append((yield from self._embed(ids)))
        return tuple(vectors)

    def _encode(self, index: int) -> list[int]:
        ids = self._model.tokenizer.encode_whole(self._request.texts[index])
        if len(ids) > self._context_length:
            raise RequestError(
                f"{self._request.name_of(index)} has {len(ids)} tokens and context_length is "
                f"{self._context_length}; embed it in parts"
            )
        chunk = self._model.chunk_size
        if self._model.is_encoder and len(ids) > chunk:
            raise RequestError(
                f"{self._request.name_of(index)} has {len(ids)} tokens; {self._model.name} sees a "
                f"text as a whole, of {chunk} at most; embed it in parts"
            )
        return ids

    def _embed(self, ids: Sequence[int]) -> "Generator[None, list[int], Floats]":
        """The vector of a text, (C,), of length 1.

        All of it is computed, also what another sequence knows: there are no hidden rows of that.
        """
        self._sequence.clear()
        pooled: Doubles | None = None
        while (known := len(self._sequence)) < len(ids):
            yield None
            self._sequence.forward(ids[known : known + self._model.chunk_size], want_logits=False)
            pooled = _pool(pooled, self._model.hidden(), self._pooling)
        assert pooled is not None
        return _normalize(pooled)


def _pool(pooled: Doubles | None, rows: Floats, pooling: str) -> Doubles:
    """What was pooled of a text (C,), and its next rows (T, C), as one vector of any length."""
    if pooling == MEAN:  # or the sum, which has the same direction
        total: Doubles = rows.sum(axis=0, dtype=np.float64)  # (C,)
        return total if pooled is None else pooled + total
    if pooling == FIRST and pooled is not None:
        return pooled
    row: Floats = rows[0 if pooling == FIRST else -1]  # (C,)
    return row.astype(np.float64)


def _normalize(vector: Doubles) -> Floats:
    """The direction of a vector (C,), as float32. NumericError on NaN, infinity."""
    length = np.sqrt(vector @ vector)
    if not np.isfinite(length):
        raise NumericError(
            "the embedding is NaN or infinite; the weights in the file are damaged or overflow"
        )
    return (vector / (length or 1.0)).astype(np.float32)  # (C,)
