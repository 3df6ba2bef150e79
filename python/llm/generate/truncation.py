"""Shortens a conversation that no longer fits the context: the oldest turns go, whole ones."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llm.text.messages import Message

ERROR, TRUNCATE, STOP = CONTEXT_POLICIES = ("error", "truncate", "stop")
ROOM = 4  # a part of the context, that an answer may expect


def wanted_room(context_length: int, max_tokens: int) -> int:
    """Tokens that should be left for the answer: all it may have, but no more than a ROOM-th."""
    most = context_length // ROOM
    return min(max_tokens, most) if max_tokens > 0 else most


def drop_turns(
    messages: "Sequence[Message]",
    encode: "Callable[[Sequence[Message]], list[int]]",
    context_length: int,
    room: int,
) -> tuple[list[int], int]:
    """The ids of what fits with `room` tokens left, and how many messages went.

    Where turns have to go, twice the room is made, as what follows them is computed again, which
    should not be so at each turn. A message of role system that leads stays, as do the latest turn
    and what comes after it; they may be too many tokens all the same.
    """
    kept = list(messages)
    start = 1 if kept and kept[0]["role"] == "system" else 0
    ids, dropped = encode(kept), 0
    if len(ids) + room <= context_length:
        return ids, dropped
    while len(ids) + 2 * room > context_length:
        next_turn = _next_turn(kept, start)
        if next_turn is None:
            break
        dropped += next_turn - start
        del kept[start:next_turn]
        ids = encode(kept)
    return ids, dropped


def _next_turn(messages: "Sequence[Message]", start: int) -> int | None:
    """Where the turn after the one at `start` begins."""
    later = range(start + 1, len(messages))
    return next((index for index in later if messages[index]["role"] == "user"), None)
