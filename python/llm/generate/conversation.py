"""What was said so far. Plain messages on the client's side; knows nothing of tokens or the KV."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from llm.errors import RequestError
from llm.generate.events import CANCELLED, COMPLETE

if TYPE_CHECKING:
    from llm.text.messages import Message

ROLES = ("system", "user", "assistant")


class Conversation:
    """The history. It changes when a turn is over, never while it runs:

    complete (stop, stop_word, length)   keeps the question and the answer
    cancelled after some text            keeps the question and that text
    cancelled before any text, error     leaves no trace of the turn
    """

    def __init__(self, messages: Sequence[object] = ()) -> None:
        """Begins with a history from outside. Raises RequestError on a message of another shape."""
        self._messages = [_checked(index, message) for index, message in enumerate(messages)]

    def messages(self) -> "list[Message]":
        """A copy, oldest first."""
        return [
            {"role": message["role"], "content": message["content"]} for message in self._messages
        ]

    def clear(self) -> None:
        self._messages.clear()

    def asking(
        self, question: str, system_prompt: str, role: str = "user", *, is_again: bool = False
    ) -> "tuple[Message, ...]":
        """The messages to answer. The system prompt leads, unless the history brings its own.

        A question that `is_again` asked takes the place of the latest turn, when it is over.
        """
        messages = self.messages()[: -2 if is_again else None]
        has_system = bool(messages) and messages[0]["role"] == "system"
        if system_prompt and not has_system:
            messages.insert(0, {"role": "system", "content": system_prompt})
        return (*messages, {"role": role, "content": question})

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
        if len(self._messages) < 2 or self._messages[-1]["role"] != "assistant":
            raise RequestError("the chat history does not end with an answer")
        return self._messages[-2]

    def end_turn(
        self,
        question: str,
        answer: str,
        reason: str,
        role: str = "user",
        *,
        is_again: bool = False,
    ) -> None:
        if reason in COMPLETE or (reason == CANCELLED and answer):
            if is_again:
                del self._messages[-2:]
            self._messages.append({"role": role, "content": question})
            self._messages.append({"role": "assistant", "content": answer})


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
    return {"role": str(role), "content": content}
