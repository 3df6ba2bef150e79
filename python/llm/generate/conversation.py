"""What was said so far. Plain messages on the client's side; knows nothing of tokens or the KV."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from llm.errors import RequestError
from llm.generate.events import CANCELLED, COMPLETE

if TYPE_CHECKING:
    from llm.text.messages import Message

ASKING_ROLES = ("system", "user", "assistant")
ROLES = (*ASKING_ROLES, "tool")


class Conversation:
    """The history. It changes when a turn is over, never while it runs:

    complete (stop, stop_word, length)   keeps the question and the answer, and calls of tools
    cancelled after some text            keeps the question and that text
    cancelled before any text, error     leaves no trace of the turn
    """

    def __init__(self, messages: Sequence[object] = ()) -> None:
        """Begins with a history from outside. Raises RequestError on a message of another shape."""
        self._messages = [_checked(index, message) for index, message in enumerate(messages)]

    def messages(self) -> "list[Message]":
        """A copy, oldest first."""
        return deepcopy(self._messages)

    def clear(self) -> None:
        self._messages.clear()

    def asking(
        self, turn: "Sequence[Message]", system_prompt: str, *, is_again: bool = False
    ) -> "tuple[Message, ...]":
        """The messages to answer. The system prompt leads, unless the history brings its own.

        A turn that `is_again` asked takes the place of the latest, when it is over.
        """
        messages = self.messages()
        if is_again:
            del messages[self._latest_turn() :]
        has_system = bool(messages) and messages[0]["role"] == "system"
        if system_prompt and not has_system:
            messages.insert(0, {"role": "system", "content": system_prompt})
        return (*messages, *turn)

    def drop_oldest(self, count: int) -> None:
        """So many messages, after one of role system that leads."""
        start = 1 if self._messages and self._messages[0]["role"] == "system" else 0
        del self._messages[start : start + count]

    def edit(self, index: int, content: str) -> None:
        """Puts another text in a message's place. Raises RequestError where there is none."""
        if not 0 <= index < len(self._messages):
            raise RequestError(
                f"there is no message {index}; the chat history has {len(self._messages)}"
            )
        self._messages[index]["content"] = content

    def latest_question(self) -> "Message":
        """The one before the answer at the end. RequestError where there is none."""
        return self._messages[self._latest_turn()]

    def end_turn(self, turn: "Sequence[Message]", reason: str, *, is_again: bool = False) -> None:
        """`turn` is its messages, of which the last is the answer."""
        if reason in COMPLETE or (reason == CANCELLED and turn[-1]["content"]):
            if is_again:
                del self._messages[self._latest_turn() :]
            self._messages += turn

    def _latest_turn(self) -> int:
        """Where it begins: at its question. RequestError where there is none."""
        place = len(self._messages) - 1
        if place < 1 or self._messages[place]["role"] != "assistant":
            raise RequestError("the chat history does not end with an answer")
        place -= 1
        while place > 0 and self._messages[place]["role"] == "tool":  # a round of tools
            while place > 0 and self._messages[place]["role"] == "tool":
                place -= 1
            place -= 1
        return max(place, 0)


def _checked(index: int, message: object) -> "Message":
    what = f"message {index} of the chat history"
    if not isinstance(message, Mapping):
        raise RequestError(f"{what} is a {type(message).__name__}; it must be a Dictionary")
    role, content = message.get("role"), message.get("content")
    if role not in ROLES:
        raise RequestError(f"{what} has role {role!r}; it must be one of {', '.join(ROLES)}")
    if not isinstance(content, str):
        raise RequestError(
            f"{what} has content of type {type(content).__name__}; it must be a String"
        )
    checked: Message = {"role": str(role), "content": content}
    for key in ("reasoning", "name"):
        if key in message:
            if not isinstance(message[key], str):
                kind = type(message[key]).__name__
                raise RequestError(f"{what} has {key} of type {kind}; it must be a String")
            checked[key] = message[key]
    if "tool_calls" in message:
        checked["tool_calls"] = [_checked_call(what, call) for call in _list(message, what)]
    return checked


def _list(message: Mapping[str, Any], what: str) -> list[Any]:
    calls = message["tool_calls"]
    if not isinstance(calls, list):
        raise RequestError(
            f"{what} has tool_calls of type {type(calls).__name__}; it must be an Array"
        )
    return calls


def _checked_call(what: str, call: object) -> Any:
    if (
        isinstance(call, Mapping)
        and isinstance(call.get("name"), str)
        and isinstance(call.get("arguments"), Mapping)
    ):
        return {"name": call["name"], "arguments": dict(call["arguments"])}
    raise RequestError(
        f"{what} has a tool call that is no Dictionary with a name and arguments, a Dictionary"
    )
