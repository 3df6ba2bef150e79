"""The request that a client has accepted and that has not ended: its turn of the conversation.

A turn may take several rounds: where the model calls tools, their results join it, and the worker
is asked to go on.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llm.generate.events import CANCELLED, STOP, AnswerStats, Ended, Updated
from llm.generate.request import Asked

if TYPE_CHECKING:
    from llm.text.messages import Message


class Running:
    def __init__(self, asked: Asked) -> None:
        self.id = asked.id
        self.asked = asked
        self.is_kept = asked.question is not None  # in the history, when it is over
        self.text = ""  # of the answer so far, of all rounds
        self._round_text = ""  # of this round
        self._reasoning = ""
        self.messages: list[Message] = []  # of the turn, from the question on
        if asked.question is not None:
            self.messages.append({"role": asked.role, "content": asked.question})
        self._rounds = 0
        self._names: list[str] = []  # of the tools that are being called
        self._results: list[str | None] = []  # of these, as they come

    @property
    def rounds_left(self) -> int:
        return self.asked.options.max_tool_rounds - self._rounds

    def note(self, event: Updated) -> None:
        self.text += event.text
        self._round_text += event.text
        self._reasoning += event.reasoning

    def cancelled(self, stats: AnswerStats) -> Ended:
        """Its end, where it comes now."""
        return Ended(self.id, CANCELLED, self._round_text, stats, reasoning=self._reasoning)

    def wants_tools(self, event: Ended) -> bool:
        return event.reason == STOP and bool(event.calls or event.faults)

    def begin_round(self, event: Ended) -> None:
        """The model has called tools, whose results are awaited; faulty calls have theirs."""
        self._rounds += 1
        self._round_text = self._reasoning = ""
        self.messages.append(_said(event))
        self._names = [call.name for call in event.calls] + [""] * len(event.faults)
        self._results = [None] * len(event.calls) + [f"error: {fault}" for fault in event.faults]

    def give(self, index: int, result: str) -> None:
        """Of the call with that number; a second one is of no use."""
        if index < len(self._results) and self._results[index] is None:
            self._results[index] = result

    def take_results(self) -> bool:
        """Whether all results are there; then they have joined the turn."""
        if not self._results or None in self._results:
            return False
        for name, result in zip(self._names, self._results, strict=True):
            message: Message = {"role": "tool", "content": result or ""}
            if name:
                message["name"] = name
            self.messages.append(message)
        self._results = []
        return True

    def whole(self, event: Ended) -> "Sequence[Message]":
        """The messages of the turn, with the answer at its end."""
        return (*self.messages, _said(event))


def _said(event: Ended) -> "Message":
    said: Message = {"role": "assistant", "content": event.text}
    if event.reasoning:
        said["reasoning"] = event.reasoning
    if event.calls:
        said["tool_calls"] = [
            {"name": call.name, "arguments": dict(call.arguments)} for call in event.calls
        ]
    return said
