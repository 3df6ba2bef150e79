"""The node that remembers texts, and finds those that a question is about."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import godot
from godot import (
    PROPERTY_HINT_NODE_TYPE,
    BoundSignal,
    FreedObjectError,
    Node,
    PackedFloat32Array,
    ProjectSettings,
    export,
    exposed,
)
from llm.errors import LLMError, RequestError
from llm.generate.client import new_request_id
from llm.generate.vector_entry import checked_metadata
from llm.nodes.awaited import AwaitedResults
from llm.nodes.embedding import LLMEmbedding

if TYPE_CHECKING:
    from llm.generate.vector_store import VectorStore

NOTHING: dict[str, Any] = {}
NO_ENTRY = -1


@exposed
class LLMMemory(Node):
    """Remembers texts, and recalls those that are nearest to what is asked.

    Set [member embedding] to an [LLMEmbedding] node, which several memories may have in common;
    [code]await memory.remember("The player stole a loaf of bread.", {"day": 3})[/code]; and later
    [code]var found: Array = await memory.recall("Who is a thief?")[/code].

    What needs no result needs no [code]await[/code]: what is asked is done in its order. Every text
    is compared with what is asked, on the main thread; ten thousand take some milliseconds. What is
    remembered lives as long as the node, in the tree or outside; [method save] puts it into a file.
    """

    embedding = export(
        LLMEmbedding,
        hint=PROPERTY_HINT_NODE_TYPE,
        hint_string="LLMEmbedding",
        doc="The node that makes vectors of the texts. It must be inside the tree. The vectors of "
        "one model say nothing to another: after a change, [method clear] the memory.",
    )

    _last_error: str = ""

    def __init__(self) -> None:
        self._awaited = AwaitedResults()
        self._store: VectorStore | None = None  # numpy comes with the first

    def remember(self, text: str, metadata: dict[str, Any] = NOTHING) -> BoundSignal:
        """Remembers a text, and whatever belongs to it: texts, numbers, bools, and arrays and
        dictionaries of these. To be awaited: gives its id, from 1 up, or -1 where that failed; see
        [method get_last_error]."""

        def keep(vector: Sequence[float], source: str) -> int:
            return self._stored().add(text, copy, vector, source)

        try:
            copy = checked_metadata(metadata)
        except RequestError as problem:
            self._note_error(str(problem))
            return self._awaited.refused(NO_ENTRY)
        return self._with_vector(text, keep, NO_ENTRY)

    def recall(self, query: str, count: int = 3) -> BoundSignal:
        """Finds up to so many texts that are nearest to what is asked. To be awaited: gives an
        Array of Dictionaries with [code]text, similarity[/code] (as
        [method LLMEmbedding.cosine_similarity])[code], metadata, id[/code], the nearest first.
        Empty where that failed; see [method get_last_error]."""

        def find(vector: Sequence[float], source: str) -> list[Any]:
            return [
                {
                    "text": match.entry.text,
                    "similarity": match.similarity,
                    "metadata": match.entry.metadata,
                    "id": match.entry.id,
                }
                for match in self._stored().nearest(vector, source, count)
            ]

        return self._with_vector(query, find, [])

    def forget(self, id: int) -> bool:
        """Forgets a text; false where there is none of that id."""
        return self._stored().forget(id)

    def clear(self) -> None:
        """Forgets everything."""
        self._store = None

    def count(self) -> int:
        """How many texts there are."""
        return 0 if self._store is None else len(self._store)

    def save(self, path: str) -> bool:
        """Writes everything to a file: a user:// or absolute path. Where that fails, false: the
        file is what it was, and [method get_last_error] says why."""
        from llm.generate.vector_file import save_vectors

        try:
            save_vectors(self._stored(), ProjectSettings.globalize_path(path))
        except LLMError as problem:
            self._note_error(str(problem))
            return False
        return True

    def load(self, path: str) -> bool:
        """Takes what a file of [method save] has, in place of what is here. Where the file is
        damaged, or has vectors of another model than [member embedding], false: nothing has
        changed, and [method get_last_error] says why."""
        from llm.generate.vector_file import load_vectors

        try:
            store = load_vectors(ProjectSettings.globalize_path(path))
            source = "" if self.embedding is None else self.embedding.get_vector_source()
            if source:
                store.check_source(source, store.vectors.shape[1])
            self._store = store
        except LLMError as problem:
            self._note_error(str(problem))
            return False
        return True

    def get_last_error(self) -> str:
        """Why the latest call that failed did so, in one line; empty when none has."""
        return self._last_error

    def _process(self, delta: float) -> None:
        self._awaited.begin_frame()

    def _with_vector(
        self, text: str, use: Callable[[Sequence[float], str], Any], nothing: Any
    ) -> BoundSignal:
        """To be awaited: what `use` makes of the text's vector, or `nothing` where that fails."""
        embedding = self.embedding
        try:
            if embedding is None:
                raise RequestError("embedding is not set; it must be an LLMEmbedding node")
            vector_came = embedding.embed_async(text)
        except (RequestError, FreedObjectError) as problem:
            self._note_error(str(problem))
            return self._awaited.refused(nothing)
        request_id = new_request_id()

        def take(vector: PackedFloat32Array) -> None:
            if not len(vector):
                self._last_error = embedding.get_last_error()
                self._awaited.tell(request_id, nothing)
                return
            try:
                found = use(vector.tolist(), embedding.get_vector_source())
            except RequestError as problem:
                self._note_error(str(problem))
                found = nothing
            self._awaited.tell(request_id, found)

        vector_came.connect(take)
        return self._awaited.signal_of(request_id)

    def _stored(self) -> "VectorStore":
        from llm.generate.vector_store import VectorStore

        if self._store is None:
            self._store = VectorStore()
        return self._store

    def _note_error(self, error: str) -> None:
        self._last_error = error
        godot.log_error(error)
