"""Ends of requests that are awaited: each by a signal of its own, as a node's tell all ends."""

from typing import Any

from godot import BoundSignal, RefCounted

ENDED = "ended"
STRING = 4  # Variant.Type


class AwaitedEnds:
    """A signal lives as long as its object, which is kept here until it has told."""

    def __init__(self) -> None:
        self._waiting: dict[int, Any] = {}  # objects by request
        # Of refused requests, until a deferred call has come: this frame's, and the last one's.
        self._refused: tuple[list[Any], list[Any]] = ([], [])

    def signal_of(self, request_id: int, *, is_refused: bool) -> BoundSignal:
        """To be awaited at once: it comes with the text of the answer, empty where refused."""
        owner = RefCounted()
        owner.add_user_signal(ENDED, [{"name": "text", "type": STRING}])
        if is_refused:
            owner.call_deferred("emit_signal", ENDED, "")
            self._refused[0].append(owner)
        else:
            self._waiting[request_id] = owner
        return BoundSignal(owner, ENDED)

    def tell(self, request_id: int, text: str) -> None:
        """The request is over."""
        owner = self._waiting.pop(request_id, None)
        if owner is not None:
            owner.emit_signal(ENDED, text)

    def begin_frame(self) -> None:
        self._refused = ([], self._refused[0])
