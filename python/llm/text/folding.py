"""The same words for chat templates that know less: no tools, no system role, no such order.

Where a template knows nothing of tools they are described to the model in words, and it calls them
by JSON in a tag, as many models have learned to.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from llm.text.messages import Message

CALL_TAG = ("<tool_call>", "</tool_call>")

_TOOLS = """You may use these tools:
{tools}
To use one, write nothing but this, with the tool's name and its arguments as JSON:
{opener}
{{"name": "tool", "arguments": {{"argument": "value"}}}}
{closer}
The result comes with the next message. When you need no tool, answer in plain words."""


def plain_prompt(messages: Sequence[Message]) -> str:
    """A transcript that a base model carries on. For messages without tools."""
    system = [message["content"].strip() for message in messages if message["role"] == "system"]
    turns = [
        f"{message['role'].capitalize()}: {message['content'].strip()}"
        for message in messages
        if message["role"] != "system"
    ]
    return "\n\n".join([*system, "\n".join([*turns, "Assistant:"])])


def simplified(messages: Sequence[Message]) -> list[Message]:
    """For templates that want user and assistant in turns and no system role.

    What the system says joins the user's turn after it, and neighbours of one role become one,
    except for results of tools.
    """
    turns: list[Message] = []
    for message in messages:
        if message["role"] == "system":
            message = Message(role="user", content=message["content"])
        if turns and _are_one_turn(turns[-1], message):
            content = f"{turns[-1]['content']}\n\n{message['content']}"
            turns[-1] = {**turns[-1], **message, "content": content}
        else:
            turns.append(message)
    return turns


def _are_one_turn(earlier: Message, later: Message) -> bool:
    same = earlier["role"] == later["role"] != "tool"
    return same and "tool_calls" not in earlier


def has_tools(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> bool:
    return bool(tools) or any(
        message["role"] == "tool" or message.get("tool_calls") for message in messages
    )


def without_tools(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Tools described in the system message, calls as text, and results as words of the user."""
    folded: list[Message] = []
    after_result = False  # results of one turn are one message: roles have to take turns
    for message in messages:
        is_result = message["role"] == "tool"
        plain = _plain(message)
        if is_result and after_result:
            content = f"{folded[-1]['content']}\n{plain['content']}"
            folded[-1] = {**plain, "content": content}
        else:
            folded.append(plain)
        after_result = is_result
    if not tools:
        return folded
    described = _TOOLS.format(
        tools="\n".join(_json(tool.get("function", tool)) for tool in tools),
        opener=CALL_TAG[0],
        closer=CALL_TAG[1],
    )
    if folded and folded[0]["role"] == "system":
        content = f"{folded[0]['content']}\n\n{described}"
        return [Message(role="system", content=content), *folded[1:]]
    return [Message(role="system", content=described), *folded]


def _plain(message: Message) -> Message:
    """One message without fields for tools."""
    content = message["content"]
    if message["role"] == "tool":
        result = _json({"name": message.get("name", ""), "content": content})
        return Message(role="user", content=f"<tool_response>\n{result}\n</tool_response>")
    plain: Message = {**message}
    if calls := plain.pop("tool_calls", None):
        texts = [f"{CALL_TAG[0]}\n{_json(call)}\n{CALL_TAG[1]}" for call in calls]
        plain["content"] = "\n".join([content, *texts] if content else texts)
    return plain


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
