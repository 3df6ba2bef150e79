"""Results of requests that are awaited: each by a signal of its own, as a node's tell of all."""

from typing import Any

from godot import BoundSignal, RefCounted

ENDED = "ended"


class AwaitedResults:
    """A signal lives as long as its object, which is kept here until it has told."""

    def __init__(self) -> None:
        self._waiting: dict[int, Any] = {}  # objects by request
        # Of refused requests, until a deferred call has come: this frame's, and the last one's.
        self._refused: tuple[list[Any], list[Any]] = ([], [])

    def signal_of(self, request_id: int) -> BoundSignal:
        """To be awaited at once: it comes with what is told of the request."""
        owner = self._waiting[request_id] = _made_owner()
        return BoundSignal(owner, ENDED)

    def refused(self, result: Any) -> BoundSignal:
        """As of a request that was not accepted: it comes with `result`, once it is awaited."""
        owner = _made_owner()
        owner.call_deferred("emit_signal", ENDED, result)
        self._refused[0].append(owner)
        return BoundSignal(owner, ENDED)

    def tell(self, request_id: int, result: Any) -> None:
        """The request is over."""
        owner = self._waiting.pop(request_id, None)
        if owner is not None:
            owner.emit_signal(ENDED, result)

    def begin_frame(self) -> None:
        self._refused = ([], self._refused[0])


def _made_owner() -> Any:
    owner = RefCounted()
    owner.add_user_signal(ENDED, [{"name": "result"}])
    return owner
