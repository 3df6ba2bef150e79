"""Turns a conversation into the token ids of a prompt, by the file's template or a plain fallback.

What people typed must not become control tokens: a player's "<end_of_turn>" ends nothing. So
wherever a control token could begin in a message, an invisible mark travels through the template
behind its first character, and no control token is read there. Messages without such places pass
unchanged, because templates look into them (trim, split, compare).
"""

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, TypedDict

from llm.errors import RequestError
from llm.text.chat_template import ChatTemplate
from llm.text.surrogates import without_surrogates

if TYPE_CHECKING:
    from llm.files.metadata import Metadata
    from llm.text.tokenizer import Tokenizer

_PRIVATE_USE = range(0xF0000, 0xFFFFE)


class Message(TypedDict):
    role: str  # "system", "user" or "assistant"
    content: str


class ChatFormat:
    """`source` says where the format comes from, "template" or "fallback".

    `stop_words` end an answer that no end token ends: base models go on and speak for the user.
    """

    def __init__(self, tokenizer: "Tokenizer", template: ChatTemplate | None) -> None:
        self.source = "fallback" if template is None else "template"
        self.stop_words: tuple[str, ...] = ("\nUser:",) if template is None else ()
        self._tokenizer = tokenizer
        self._template = template
        beginnings = sorted(tokenizer.control_beginnings)
        self._beginning = re.compile("|".join(map(re.escape, beginnings)) or r"(?!)")

    @classmethod
    def from_metadata(cls, metadata: "Metadata", tokenizer: "Tokenizer") -> "ChatFormat":
        source = metadata.str("tokenizer.chat_template", "")
        if not source.strip():
            return cls(tokenizer, None)
        bos, eos = (
            "" if token is None else tokenizer.token_text(token)
            for token in (tokenizer.bos_id, tokenizer.eos_id)
        )
        return cls(tokenizer, ChatTemplate(source, bos, eos))

    def encode(self, messages: Sequence[Message]) -> list[int]:
        """Ids up to where the answer begins, with exactly one BOS where the file wants it.

        Raises RequestError where there is no message or the template refuses them.
        """
        if not messages:
            raise RequestError("there is no message to answer")
        if self._template is None:
            return self._tokenizer.encode(plain_prompt(messages))
        clean = [_with(message, without_surrogates(message["content"])) for message in messages]
        mark = _unused_character(message["content"] for message in clean)
        marked = [_with(message, self._marked(message["content"], mark)) for message in clean]
        text, guarded = _unmarked(without_surrogates(_render(self._template, marked)), mark)
        ids = self._tokenizer.encode(text, parse_special=True, add_bos=False, guarded=guarded)
        if not self._tokenizer.add_bos:
            return ids
        bos = self._tokenizer.bos_id
        start = next((place for place, token in enumerate(ids) if token != bos), len(ids))
        return self._tokenizer.encode("", add_bos=True) + ids[start:]

    def _marked(self, content: str, mark: str) -> str:
        """`content` with `mark` behind each character at which a control token could begin."""
        return self._beginning.sub(lambda found: found[0][0] + mark + found[0][1:], content)


def plain_prompt(messages: Sequence[Message]) -> str:
    """A transcript that a base model carries on."""
    system = [message["content"].strip() for message in messages if message["role"] == "system"]
    turns = [
        f"{message['role'].capitalize()}: {message['content'].strip()}"
        for message in messages
        if message["role"] != "system"
    ]
    return "\n\n".join([*system, "\n".join([*turns, "Assistant:"])])


def simplified(messages: Sequence[Message]) -> list[Message]:
    """The same words for templates that want user and assistant in turns and no system role.

    What the system says joins the user's turn after it, and neighbours of one role become one.
    """
    turns: list[Message] = []
    for message in messages:
        role = "user" if message["role"] == "system" else message["role"]
        if turns and turns[-1]["role"] == role:
            turns[-1] = _with(turns[-1], f"{turns[-1]['content']}\n\n{message['content']}")
        else:
            turns.append(Message(role=role, content=message["content"]))
    return turns


def _render(template: ChatTemplate, messages: Sequence[Message]) -> str:
    """The prompt of `messages`, simplified if the template refuses them or drops a system text."""
    simpler = simplified(messages)
    if simpler == messages:
        return template.render(messages)
    try:
        text = template.render(messages)
    except RequestError:
        return template.render(simpler)
    system = [message["content"].strip() for message in messages if message["role"] == "system"]
    return text if all(said in text for said in system) else template.render(simpler)


def _unused_character(contents: Iterable[str]) -> str:
    used = set().union(*contents)
    return next(mark for mark in map(chr, _PRIVATE_USE) if mark not in used)


def _unmarked(text: str, mark: str) -> tuple[str, set[int]]:
    """`text` without marks, and the positions of the characters before them."""
    pieces = text.split(mark)
    ends = accumulate(len(piece) for piece in pieces[:-1])
    return "".join(pieces), {end - 1 for end in ends}


def _with(message: Message, content: str) -> Message:
    return Message(role=message["role"], content=content)
