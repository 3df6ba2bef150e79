"""Brings what was computed of a conversation into its file and back, a page a step."""

from collections.abc import Generator
from contextlib import closing
from dataclasses import fields, replace

from llm.errors import StateFileError
from llm.generate.saved_state import ModelIdentity, SavedCache, SavedState, open_state, writing
from llm.generate.sequence import CachedSequence
from llm.gpu.operations import PAGE_CELLS

Steps = Generator[None, None, None]


def save_cache(sequence: CachedSequence, path: str, state: SavedState) -> Steps:
    """Writes the file anew, with the pages of a sequence. Raises LLMError."""
    ids = tuple(sequence.ids)
    if not ids:
        return
    cache = SavedCache(sequence.model.identity, ids, -(-len(ids) // PAGE_CELLS))
    with closing(sequence.snapshot()) as pages:
        yield from writing(path, replace(state, cache=cache), pages)


def load_cache(sequence: CachedSequence, path: str, context_length: int) -> Steps:
    """A sequence is what the file holds, or knows nothing. Raises LLMError."""
    with open_state(path) as (state, pages):
        if state.cache is None:
            return
        _check_belongs(path, state.cache, sequence.model.identity)
        if len(state.cache.ids) > context_length:
            raise StateFileError(
                path,
                "cache",
                f"has {len(state.cache.ids):,} tokens, and context_length is {context_length:,}; "
                "the conversation is there, and is computed anew",
            )
        yield from sequence.restore(state.cache.ids, pages)


def _check_belongs(path: str, cache: SavedCache, model: ModelIdentity) -> None:
    for field in fields(ModelIdentity):
        saved, loaded = getattr(cache.model, field.name), getattr(model, field.name)
        if field.name != "name" and saved != loaded:
            raise StateFileError(
                path,
                f"cache.model.{field.name}",
                f"is {saved} of {cache.model.name}, and {loaded} of {model.name}, which is loaded; "
                "the conversation is there, and is computed anew",
            )
    if cache.pages != -(-len(cache.ids) // PAGE_CELLS):
        raise StateFileError(
            path, "cache.pages", f"are {cache.pages:,} for {len(cache.ids):,} tokens"
        )
