"""What a conversation is made of, and the shape in which chat templates expect it."""

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

ROLES = ("system", "user", "assistant", "tool")

# Some templates want ids of nine letters and digits.
_CALL_ID = "call{:05}"


class CalledTool(TypedDict):
    name: str
    arguments: dict[str, Any]


class Message(TypedDict):
    role: str  # one of ROLES
    content: str
    reasoning: NotRequired[str]  # what an assistant thought before it spoke
    tool_calls: NotRequired[list[CalledTool]]  # of an assistant
    name: NotRequired[str]  # the tool whose result this is


def template_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The messages as templates know them: calls are functions with ids, which results name."""
    shaped = []
    waiting: list[tuple[str, str]] = []  # (tool, id) of calls without a result
    count = 0
    for message in messages:
        shape: dict[str, Any] = {"role": message["role"], "content": message["content"]}
        if reasoning := message.get("reasoning"):
            shape["reasoning_content"] = reasoning
        if calls := message.get("tool_calls"):
            waiting = [(call["name"], _CALL_ID.format(count + n)) for n, call in enumerate(calls)]
            count += len(calls)
            shape["tool_calls"] = [
                {"id": id, "type": "function", "function": dict(call)}
                for call, (_, id) in zip(calls, waiting, strict=True)
            ]
        if message["role"] == "tool":
            answered = _answered(message.get("name", ""), waiting)
            shape["name"], shape["tool_call_id"] = answered
            waiting = [call for call in waiting if call != answered]
        shaped.append(shape)
    return shaped


def with_responses(shaped: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """For templates that read `tool_responses` (Gemma 4): results are part of the message that
    called, as the model goes on in the same turn."""
    turns: list[dict[str, Any]] = []
    for message in shaped:
        if message["role"] == "tool" and turns and turns[-1].get("tool_calls"):
            response = {"name": message["name"], "response": message["content"]}
            before = turns[-1].get("tool_responses", [])
            turns[-1] = {**turns[-1], "tool_responses": [*before, response]}
        else:
            turns.append(message)
    return turns


def _answered(tool: str, waiting: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """The oldest call of `tool`, or of any where the result does not say."""
    fitting = [call for call in waiting if tool in ("", call[0])]
    return fitting[0] if fitting else (tool, _CALL_ID.format(0))
