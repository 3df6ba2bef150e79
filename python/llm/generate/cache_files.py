"""Brings what was computed of a conversation into its file and back, a page or a state a step."""

from collections.abc import Generator
from contextlib import closing
from dataclasses import fields, replace
from itertools import pairwise

from llm.errors import StateFileError
from llm.generate.saved_state import ModelIdentity, SavedCache, SavedState, open_state, writing
from llm.generate.sequence import CachedSequence
from llm.gpu.operations import PAGE_CELLS

Steps = Generator[None, None, None]


def save_cache(sequence: CachedSequence, path: str, state: SavedState) -> Steps:
    """Writes the file anew, with the pages and states of a sequence. Raises LLMError."""
    ids = tuple(sequence.ids)
    if not ids:
        return
    pages = -(-len(ids) // PAGE_CELLS)
    cache = SavedCache(sequence.identity, ids, pages, sequence.state_positions())
    with closing(sequence.snapshot()) as parts:
        yield from writing(path, replace(state, cache=cache), parts)


def load_cache(sequence: CachedSequence, path: str, context_length: int) -> Steps:
    """A sequence is what the file holds, or knows nothing. Raises LLMError."""
    with open_state(path) as (state, parts):
        if state.cache is None:
            return
        _check_belongs(path, state.cache, sequence.identity)
        if len(state.cache.ids) > context_length:
            raise StateFileError(
                path,
                "cache",
                f"has {len(state.cache.ids):,} tokens, and context_length is {context_length:,}; "
                "the conversation is there, and is computed anew",
            )
        yield from sequence.restore(state.cache.ids, parts, state.cache.states)


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
    places = [0, *cache.states, len(cache.ids) + 1]
    if any(place >= after for place, after in pairwise(places)):
        problem = f"are after {cache.states} of {len(cache.ids):,} tokens, which should rise"
        raise StateFileError(path, "cache.states", problem)
    if cache.pages != -(-len(cache.ids) // PAGE_CELLS):
        raise StateFileError(
            path, "cache.pages", f"are {cache.pages:,} for {len(cache.ids):,} tokens"
        )
