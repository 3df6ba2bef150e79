"""Splits what a model says, as it comes, into its answer, its reasoning, and its calls of tools.

Text that may be the beginning of a marker is held back, and so is white space, until what follows
shows where it belongs. Each character is looked at by itself, so what comes out does not depend on
how the text was cut.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from llm.text.reply_style import HARMONY_ENDS, HARMONY_TEXT, ReplyStyle
from llm.text.tool_calls import ToolCall, read_arguments, read_calls

ANSWER, REASONING = "answer", "reasoning"

# What else text may belong to: a call between markers, an answer that may turn out to be a call,
# and what stands before a message of gpt-oss.
_CALL, _BARE, _HEADER = "call", "bare", "header"

_BETWEEN = "\n\n"  # blocks of one kind that were apart
_BARE_STARTS = ('{"name":', '{"type":"function"', '{"function":', '{"parameters":')
_BARE_DECIDED = 64  # characters, white space among them, within which such a start shows
_FAULT_SHOWS = 200  # characters of the call

_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)")
_RECIPIENT = re.compile(r"\bto=(?:functions\.)?([^\s<]+)")


@dataclass(frozen=True, slots=True)
class Part:
    kind: str  # ANSWER or REASONING
    text: str


class ReplyParser:
    """`calls` are the tools called so far; `faults` what was wrong with others, for the model.

    `is_thinking`: the prompt has opened a block of reasoning. Without `has_tools`, what looks like
    a call is text like any other.
    """

    def __init__(self, style: ReplyStyle, *, is_thinking: bool, has_tools: bool) -> None:
        self.calls: list[ToolCall] = []
        self.faults: list[str] = []
        self._style = style
        self._thinking = dict(style.thinking)
        self._calls = dict(style.calls if has_tools else ())
        self._has_tools = has_tools
        self._held = ""  # perhaps the beginning of a marker
        self._opener = ""  # of the call
        self._body: list[str] = []  # of the call or header so far
        self._tool = ""  # that gpt-oss's header names
        self._spaces = {ANSWER: "", REASONING: ""}  # to come before the next text
        self._begun: set[str] = set()  # kinds whose white space counts
        self._said: list[tuple[str, str]] = []  # (kind, text)
        if style.is_harmony:
            self._enter(_HEADER, [HARMONY_TEXT])
        elif is_thinking:
            self._enter(REASONING, self._thinking.values())
        else:
            self._enter_answer()

    @property
    def markers(self) -> frozenset[str]:
        """Texts of control tokens that it has to see."""
        return self._style.markers

    @property
    def is_thinking(self) -> bool:
        return self._kind == REASONING

    def push(self, piece: str) -> list[Part]:
        for character in piece:
            self._held += character
            while self._held and not any(mark.startswith(self._held) for mark in self._markers):
                self._take(self._held[0])
                self._held = self._held[1:]
            if self._held in self._markers:
                marker, self._held = self._held, ""
                self._meet(marker)
        return self._parts()

    def finish(self) -> list[Part]:
        """What was held back, now that no more text comes."""
        held, self._held = self._held, ""
        for character in held:
            self._take(character)
        if self._kind == _CALL:
            self._end_call("")
        elif self._kind == _BARE:
            self._end_bare()
        elif self._kind == _HEADER and "<|channel|>" not in self._body_text():
            self._say(ANSWER, self._body_text())  # no message began
        if not self.calls and ANSWER in self._begun:
            self._said.append((ANSWER, self._spaces[ANSWER]))
        return self._parts()

    def _parts(self) -> list[Part]:
        said, self._said = self._said, []
        runs = groupby(said, key=lambda part: part[0])
        parts = [Part(kind, "".join(text for _, text in run)) for kind, run in runs]
        return [part for part in parts if part.text]

    def _enter(self, kind: str, markers: Iterable[str]) -> None:
        self._kind = kind
        self._markers = frozenset(filter(None, markers))
        self._body = []

    def _enter_answer(self) -> None:
        self._enter(ANSWER, [*self._thinking, *self._calls, *self._style.wrappers])

    def _take(self, character: str) -> None:
        """A character that is part of no marker."""
        if self._kind in (ANSWER, REASONING):
            if character == "{" and self._may_be_bare():
                self._enter(_BARE, [])
                self._body = [character]
            else:
                self._say(self._kind, character)
            return
        self._body.append(character)
        if self._kind == _BARE and len(self._body) <= _BARE_DECIDED:
            start = "".join(self._body_text().split())
            if not any(
                start.startswith(known) or known.startswith(start) for known in _BARE_STARTS
            ):
                self._release_bare()

    def _say(self, kind: str, text: str) -> None:
        for character in text:
            if not character.isspace():
                self._said.append((kind, self._spaces[kind] + character))
                self._spaces[kind] = ""
                self._begun.add(kind)
            elif kind in self._begun:
                self._spaces[kind] += character

    def _meet(self, marker: str) -> None:
        if self._kind == _CALL:
            self._end_call(marker)
        elif self._kind == _HEADER:
            self._begin_message()
            return
        elif self._kind == REASONING or self._style.is_harmony:
            self._end_block()
        elif marker in self._thinking:
            self._enter(REASONING, [self._thinking[marker]])
            return
        elif marker in self._calls:
            self._opener = marker
            self._enter(_CALL, [self._calls[marker]])
            return
        if self._style.is_harmony:
            self._enter(_HEADER, [HARMONY_TEXT])
        else:
            self._enter_answer()

    def _end_block(self) -> None:
        """White space at its end and at the next one's beginning does not count."""
        if self._kind in self._begun:
            self._spaces[self._kind] = _BETWEEN
            self._begun.remove(self._kind)

    def _begin_message(self) -> None:
        """Of gpt-oss, by its header: `<|channel|>analysis`, `… commentary to=functions.name`."""
        header = self._body_text()
        channel, recipient = _CHANNEL.search(header), _RECIPIENT.search(header)
        if recipient and self._has_tools:
            self._tool = recipient[1]
            self._enter(_CALL, HARMONY_ENDS)
        elif channel and channel[1] == "analysis":
            self._enter(REASONING, HARMONY_ENDS)
        else:
            self._enter(ANSWER, HARMONY_ENDS)

    def _end_call(self, closer: str) -> None:
        body = self._body_text()
        raw = f"{self._opener}{body}{closer}"
        try:
            if self._style.is_harmony:
                self.calls.append(ToolCall(self._tool, read_arguments(body), raw))
            else:
                # The tool's name stands behind this one, so it is part of the call.
                is_tag = self._opener.endswith("=")
                self.calls += read_calls(self._opener + body if is_tag else body, raw)
        except ValueError as error:
            shown = raw if len(raw) <= _FAULT_SHOWS else f"{raw[:_FAULT_SHOWS]}…"
            self.faults.append(f"this call of a tool could not be read: {error}: {shown}")

    def _may_be_bare(self) -> bool:
        """Whether an answer that begins with { may be a call."""
        return (
            self._kind == ANSWER
            and self._style.has_bare_calls
            and self._has_tools
            and ANSWER not in self._begun
        )

    def _end_bare(self) -> None:
        body = self._body_text()
        try:
            self.calls += read_calls(body, body)
        except ValueError:
            self._release_bare()

    def _release_bare(self) -> None:
        body = self._body_text()
        self._enter_answer()
        self._say(ANSWER, body)

    def _body_text(self) -> str:
        return "".join(self._body)
