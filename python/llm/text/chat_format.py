"""Turns a conversation into the token ids of a prompt, by the file's template or a plain fallback.

What people typed must not become control tokens: a player's "<end_of_turn>" ends nothing. So all
that was said, called or returned passes the template guarded (`guard`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llm.errors import RequestError
from llm.text.chat_template import TOKEN_KEYS, ChatTemplate, TemplateRefusedError
from llm.text.folding import has_tools, plain_prompt, simplified, without_tools
from llm.text.guard import Guard, beginnings_pattern
from llm.text.messages import Message, template_messages, with_responses
from llm.text.reply_style import ReplyStyle
from llm.text.special_tokens import BEGINNING
from llm.text.surrogates import values_without_surrogates, without_surrogates

if TYPE_CHECKING:
    from llm.files.metadata import Metadata
    from llm.text.tokenizer import Tokenizer

Tool = Mapping[str, Any]  # {"type": "function", "function": {"name", "description", "parameters"}}


@dataclass(frozen=True, slots=True)
class Prompt:
    ids: list[int]
    is_thinking: bool  # the prompt itself has opened a block of reasoning


class ChatFormat:
    """`source` says where the format comes from, "template" or "fallback".

    `stop_words` end an answer that no end token ends: base models go on and speak for the user.
    `reply_style` says how the model writes what it thinks and which tools it calls.
    """

    def __init__(self, tokenizer: "Tokenizer", template: ChatTemplate | None) -> None:
        self.source = "fallback" if template is None else "template"
        self.stop_words: tuple[str, ...] = ("\nUser:",) if template is None else ()
        self.reply_style = ReplyStyle.of_template("" if template is None else template.source)
        self._tokenizer = tokenizer
        self._template = template
        controls = tokenizer.control_beginnings
        openers = {opener[:BEGINNING] for opener, _ in self.reply_style.thinking}
        self._controls = beginnings_pattern(controls)
        # Tokens that begin reasoning by themselves.
        spelt = [
            tokenizer.encode(opener, parse_special=True, add_bos=False)
            for opener, _ in self.reply_style.thinking
        ]
        self.thinking_openers = frozenset(ids[0] for ids in spelt if len(ids) == 1)
        # Typed ones begin no reasoning. In an answer's text templates look for them.
        self._controls_and_openers = beginnings_pattern(controls | openers)

    @classmethod
    def from_metadata(cls, metadata: "Metadata", tokenizer: "Tokenizer") -> "ChatFormat":
        source = metadata.str("tokenizer.chat_template", "")
        if not source.strip():
            return cls(tokenizer, None)
        return cls(tokenizer, ChatTemplate(source, _token_texts(metadata, tokenizer)))

    def encode(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        allow_thinking: bool = True,
    ) -> Prompt:
        """Ids up to where the answer begins, with exactly one BOS where the file wants it.

        A template that knows no tools gets them described in words. Where thinking is not allowed
        and the prompt opens a block of it all the same, the block is closed at once.

        Raises RequestError where there is no message, the template refuses them, or exceeds its
        limits.
        """
        if not messages:
            raise RequestError("there is no message to answer")
        if self._template is None:
            text = plain_prompt(without_tools(messages, tools))
            return Prompt(self._tokenizer.encode(text), is_thinking=False)
        messages, tools = values_without_surrogates([messages, tools])
        guard = Guard([messages, tools])
        marked = [
            guard.marked(
                message,
                self._controls if message["role"] == "assistant" else self._controls_and_openers,
            )
            for message in messages
        ]
        marked_tools = guard.marked(tools, self._controls)
        text = _render(self._template, marked, marked_tools, allow_thinking)
        text, is_thinking = self._thinking(without_surrogates(text), allow_thinking)
        return Prompt(self._ids(*guard.unmarked(text)), is_thinking)

    def _thinking(self, text: str, allowed: bool) -> tuple[str, bool]:
        """The prompt, and whether it ends within a block of reasoning."""
        start = text.rstrip()
        for opener, closer in self.reply_style.thinking:
            if start.endswith(opener):
                return (text, True) if allowed else (f"{start}\n\n{closer}\n\n", False)
        return text, False

    def _ids(self, text: str, guarded: set[int]) -> list[int]:
        ids = self._tokenizer.encode(text, parse_special=True, add_bos=False, guarded=guarded)
        if not self._tokenizer.add_bos:
            return ids
        bos = self._tokenizer.bos_id
        start = next((place for place, token in enumerate(ids) if token != bos), len(ids))
        return self._tokenizer.encode("", add_bos=True) + ids[start:]


def _render(
    template: ChatTemplate,
    messages: Sequence[Message],
    tools: Sequence[Tool],
    allow_thinking: bool,
) -> str:
    """The prompt, of ever simpler messages if the template refuses them or drops a system text."""

    def rendered(messages: Sequence[Message], tools: Sequence[Tool]) -> str:
        shaped = template_messages(messages)
        if "tool_responses" in template.source:
            shaped = with_responses(shaped)
        return template.render(shaped, tools, allow_thinking=allow_thinking)

    if has_tools(messages, tools) and not template.knows_tools:
        messages, tools = without_tools(messages, tools), ()
    attempts = [(messages, tools), (simplified(messages), tools)]
    if has_tools(messages, tools):
        folded = without_tools(messages, tools)
        attempts += [(folded, ()), (simplified(folded), ())]
    attempts = [attempt for n, attempt in enumerate(attempts) if attempt not in attempts[:n]]
    for attempt in attempts[:-1]:
        try:
            text = rendered(*attempt)
            if not any(
                rendered(without, attempt[1]) == text for without in _suspects(attempt[0], text)
            ):
                return text
        except TemplateRefusedError:
            continue
    return rendered(*attempts[-1])


def _suspects(messages: Sequence[Message], text: str) -> Iterator[list[Message]]:
    """`messages`, each time without what a system message says that `text` does not show.

    Some templates drop such words, others only take a switch such as "/no_think" out of them.
    """
    for place, message in enumerate(messages):
        if message["role"] == "system" and message["content"].strip() not in text:
            yield [*messages[:place], {**message, "content": ""}, *messages[place + 1 :]]


def _token_texts(metadata: "Metadata", tokenizer: "Tokenizer") -> dict[str, str]:
    """What the file's special tokens are called in its template."""
    known = {"bos_token": tokenizer.bos_id, "eos_token": tokenizer.eos_id}
    ids = {
        name: metadata.int(key, None, minimum=-(2**63), maximum=2**64 - 1)
        for name, key in TOKEN_KEYS.items()
    }
    return {
        name: tokenizer.token_text(id)
        for name, id in (ids | known).items()
        if id is not None and 0 <= id < tokenizer.vocab_size
    }
