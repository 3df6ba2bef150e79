"""Whose turn it is: tokens for all answers that want some, then a step of one other session."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from llm.generate.session import Session

if TYPE_CHECKING:
    from llm.generate.answer import Wanted

Guard = Callable[[Callable[[], None]], None]


def take_turn(sessions: list[Session], guarded: Guard) -> None:
    """So new prompts and running answers go on side by side: a chunk of the one, a token of each.

    `guarded` calls what must not take the others down. Sessions are put in another order.
    """
    ready = _next_ready(sessions)
    waiting = [session for session in sessions if session.wanted is not None]
    while waiting:
        model = waiting[0].model
        same = [session for session in waiting if session.model is model]
        waiting = [session for session in waiting if session.model is not model]
        at_work = sum(session.has_work and session.model is model for session in sessions)
        guarded(partial(_give_tokens, same, at_work, guarded))
    if ready is not None:
        sessions.remove(ready)
        sessions.append(ready)  # to the end, so that the others come first
        guarded(ready.step)


def _next_ready(sessions: list[Session]) -> Session | None:
    """The one of the highest priority, which grows with each turn that another is preferred."""
    ready = [session for session in sessions if session.is_ready]
    if not ready:
        return None
    chosen = max(ready, key=lambda session: session.priority + session.skipped)
    for session in ready:
        session.skipped = 0 if session is chosen else session.skipped + 1
    return chosen


def _give_tokens(sessions: list[Session], at_work: int, guarded: Guard) -> None:
    # numpy is imported here, by the first answer, and not at engine start
    from llm.generate.decoding import decode

    wants: list[Wanted] = [session.wanted for session in sessions if session.wanted is not None]
    for session, found in zip(sessions, decode(wants, at_work), strict=True):
        guarded(partial(session.give, found))
