"""The node that makes vectors of texts. Turns what its client reports into signals.

It waits for nothing: see `llm.generate`.
"""

import math
from operator import mul
from typing import Any

import godot
from godot import (
    ENUM,
    BoundSignal,
    Node,
    PackedFloat32Array,
    PackedStringArray,
    export,
    exposed,
    signal,
)
from llm.errors import RequestError
from llm.generate.client import new_request_id
from llm.generate.embedding_client import EmbeddingClient
from llm.generate.events import Embedded, Ended, Event
from llm.generate.request import AUTO, EmbeddingRequest
from llm.nodes.awaited import AwaitedResults
from llm.nodes.model_user import ModelUser
from llm.nodes.shared_worker import shared_worker


@exposed
class LLMEmbedding(ModelUser, Node):
    """Makes vectors of texts; the more alike two texts are, the more alike are their vectors.

    Set [member model_path], connect [signal embedding_finished] and call [method embed]; or await
    [method embed_async]. [method cosine_similarity] compares two vectors; [LLMMemory] keeps many,
    and finds the nearest.

    Any model that runs here will do. Nodes of the same file and
    [member executor] share one model, [LLM] nodes too, whose conversations this does not disturb.
    The model loads with the first request, or earlier with [method start_worker]. All of that
    happens on a worker thread; every signal comes on the main thread, in [method Node._process].

    Requests are done in their order. Every one gets an id, and ends with exactly one signal of that
    id: [signal embedding_finished], [signal batch_finished] or [signal embedding_failed]. The node
    must be inside the tree; leaving it cancels what waits. In the editor it loads nothing.
    """

    pooling = export(
        str,
        default=AUTO,
        hint=ENUM,
        hint_string="auto,mean,first,last",
        doc="How the vectors of a text's tokens become one: their mean, the first or the last; or "
        "as the model file says, and the mean where it says nothing (auto).",
    )
    embedding_finished = signal(
        id=int,
        vector=PackedFloat32Array,
        doc="The vector of the text that [method embed] was given. It has the length 1.",
    )
    batch_finished = signal(
        id=int,
        vectors=list,
        doc="The vectors of the texts that [method embed_batch] was given, in their order: a "
        "PackedFloat32Array of length 1 each.",
    )
    embedding_failed = signal(
        id=int,
        error=str,
        doc="There is no vector: the request was refused, failed, or was cancelled as the node "
        "left the tree or took another model.",
    )

    _source: str = ""

    def __init__(self) -> None:
        self._client = EmbeddingClient(shared_worker)
        self._awaited = AwaitedResults()
        self._batches: set[int] = set()  # those of the requests that have several texts
        self._refused_id = 0  # the latest request that was not accepted

    def embed(self, text: str) -> int:
        """Has a vector made of a text. Gives the request's id, which
        [signal embedding_finished] or [signal embedding_failed] has."""
        return self._request((text,), is_batch=False)

    def embed_batch(self, texts: PackedStringArray) -> int:
        """Has a vector made of each text. Gives the request's id, which
        [signal batch_finished] or [signal embedding_failed] has: all are made, or none."""
        return self._request(tuple(texts), is_batch=True)

    def embed_async(self, text: str) -> BoundSignal:
        """As [method embed], for
        [code]var vector: PackedFloat32Array = await embedding.embed_async("Hi")[/code]. It comes
        whatever happens; empty where there is no vector, and [method get_last_error] says why."""
        return self._result_of(self.embed(text), PackedFloat32Array())

    def embed_batch_async(self, texts: PackedStringArray) -> BoundSignal:
        """As [method embed_batch], for
        [code]var vectors: Array = await embedding.embed_batch_async(["Hi", "Bye"])[/code]. It
        comes whatever happens, as [method embed_async]; empty where there are no vectors."""
        return self._result_of(self.embed_batch(texts), [])

    @staticmethod
    def cosine_similarity(a: PackedFloat32Array, b: PackedFloat32Array) -> float:
        """How alike two vectors are: 1 in the same direction, 0 at a right angle, -1 in opposite
        directions. Of vectors that have no direction or not the same size, 0 and an error."""
        if len(a) != len(b) or not len(a):
            godot.log_error(f"vectors of {len(a)} and {len(b)} numbers cannot be compared")
            return 0.0
        first, second = a.tolist(), b.tolist()
        lengths = math.hypot(*first) * math.hypot(*second)
        if not (0.0 < lengths < math.inf):
            godot.log_error(f"vectors of lengths whose product is {lengths} cannot be compared")
            return 0.0
        dot: float = sum(map(mul, first, second))
        return dot / lengths

    def get_vector_source(self) -> str:
        """What made the latest vector: a model file and a pooling. Vectors of different sources say
        nothing of one another. Empty before the first."""
        return self._source

    def _process(self, delta: float) -> None:
        self._awaited.begin_frame()
        for event in self._client.poll():
            self._tell(event)

    def _worker_side(self) -> EmbeddingClient:
        return self._client

    def _request(self, texts: tuple[str, ...], *, is_batch: bool) -> int:
        request_id = new_request_id()
        try:
            self._check_place()
            request = EmbeddingRequest(request_id, texts, self.pooling)
            self._client.embed(request, self._load_spec())
            if is_batch:
                self._batches.add(request_id)
        except RequestError as problem:
            self._note_error(str(problem))
            self._refused_id = request_id
            # Deferred, as the caller does not know the id yet.
            self.call_deferred("emit_signal", "embedding_failed", request_id, str(problem))
        return request_id

    def _result_of(self, request_id: int, nothing: Any) -> BoundSignal:
        if request_id == self._refused_id:
            return self._awaited.refused(nothing)
        return self._awaited.signal_of(request_id)

    def _tell(self, event: Event) -> None:
        match event:
            case Embedded(request_id, vectors, source):
                self._source = source
                self._tell_vectors(request_id, [PackedFloat32Array(vector) for vector in vectors])
            case Ended(request_id):
                self._tell_failure(event, request_id in self._batches)
            case _:
                super()._tell(event)

    def _tell_vectors(self, request_id: int, vectors: list[Any]) -> None:
        if request_id in self._batches:
            self._batches.remove(request_id)
            self.batch_finished.emit(request_id, vectors)
            self._awaited.tell(request_id, vectors)
        else:
            self.embedding_finished.emit(request_id, vectors[0])
            self._awaited.tell(request_id, vectors[0])

    def _tell_failure(self, event: Ended, is_batch: bool) -> None:
        self._batches.discard(event.id)
        # A load that failed has said so already, and to cancel is no error.
        if event.error and event.error != self._client.load_error:
            self._note_error(event.error, event.details)
        self._last_error = event.error or "the request was cancelled"
        self.embedding_failed.emit(event.id, self._last_error)
        self._awaited.tell(event.id, [] if is_batch else PackedFloat32Array())
