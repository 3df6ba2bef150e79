"""Tokens known by their text: what ends an answer, and what shapes a chat, whatever type it has.

Many files name only one end token, and some mark others as plain text. Source: llama.cpp,
llama-vocab.cpp.
"""

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass

_ENDS = frozenset(
    text.encode()
    for text in (
        "</s>",
        "<EOT>",
        "<end_of_turn>",
        "<end_of_utterance>",
        "<eos>",
        "<turn|>",
        "<|call|>",
        "<|calls|>",
        "<|end_of_text|>",
        "<|endoftext|>",
        "<|end|>",
        "<|eom_id|>",
        "<|eot_id|>",
        "<|flush|>",
        "<|im_end|>",
        "<|return|>",
        "<|tool_response>",
        "<｜end▁of▁sentence｜>",  # noqa: RUF001  (DeepSeek writes it with full-width bars)
        "[EOS]",
        "[EOT]",
        "[e~[",
        "_<EOT>",
        # Code models end a piece of a file so, and begin the next file.
        "<|fim_pad|>",
        "<fim-pad>",
        "<fim_pad>",
        "<|fim_repo|>",
        "<|repo_name|>",
        "<fim-repo>",
        "<reponame>",
        "<REPO>",
        "<PAD>",
        "[PAD]",
        "<|file_sep|>",
    )
)

# What stands around the middle of a file that a code model fills in.
_FILL_INS = frozenset(
    text.encode()
    for part in (
        ("prefix", "begin", "PRE"),
        ("suffix", "hole", "SUF"),
        ("middle", "end", "MID"),
    )
    for text in (
        f"<|fim_{part[0]}|>",
        f"<fim-{part[0]}>",
        f"<fim_{part[0]}>",
        f"<｜fim▁{part[1]}｜>",  # noqa: RUF001
        f"<{part[2]}>",
        f"▁<{part[2]}>",
        f"<|code_{part[0]}|>",
        f"<|{part[0]}|>",
    )
)

# Where these end answers, as in gpt-oss and Solar, "<|end|>" ends only a message.
_HARMONY_ENDS = ({b"<|return|>", b"<|call|>"}, {b"<|flush|>", b"<|calls|>"})
_MESSAGE_END = b"<|end|>"

# HTML's end of struck-through text in Gemma's vocabulary: it is user-defined, or there is another.
_STRIKE_END = b"</s>"
_GEMMA_END = b"<|tool_response>"

# User-defined tokens that look like this are control tokens too: they shape a chat, and some
# converters forget to mark them. llama.cpp makes them of typed text.
_TURN_MARKER = re.compile(
    rb"<\|[^<>|]+\|?>|<[^<>|]+\|>|<(?:start|end)_of_turn>|\[/?(?:INST|SYSTEM_PROMPT)\]"
)


@dataclass(frozen=True, slots=True)
class Markers:
    """Ids; those of `ends` and `plain` are not all of type control in the file."""

    ends: frozenset[int]  # of answers
    controls: frozenset[int]  # the ends, and what else typed text must not become
    plain: frozenset[int]  # look like an end, and are text


def find_markers(tokens: Sequence[bytes], user_defined: Container[int]) -> Markers:
    known = _ENDS | _FILL_INS
    found = {token: text for token, text in enumerate(tokens) if text in known}
    texts = set(found.values())
    no_ends = {_STRIKE_END} if _GEMMA_END in texts else set()
    plain = frozenset(token for token, text in found.items() if text in no_ends)
    if any(ends <= texts for ends in _HARMONY_ENDS):
        no_ends = no_ends | {_MESSAGE_END}
    ends = frozenset(
        token
        for token, text in found.items()
        if text in _ENDS - no_ends and not (text == _STRIKE_END and token in user_defined)
    )
    return Markers(ends, frozenset(found) - plain, plain)


def is_turn_marker(text: bytes) -> bool:
    """Whether a user-defined token shapes a chat."""
    return _TURN_MARKER.fullmatch(text) is not None
