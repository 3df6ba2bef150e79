"""The vocabulary of a model file: every token's bytes, score and part to play.

Reads `tokenizer.ggml.*` and refuses what cannot be right. Does not turn text into tokens.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from llm.errors import ModelFileError
from llm.text.special_tokens import SpecialToken

if TYPE_CHECKING:
    from llm.files.metadata import Metadata

# tokenizer.ggml.token_type
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6

# Texts that end an answer whatever type the file gives them: many files name only one end token,
# and some mark others as plain text. Source: llama.cpp, llama-vocab.cpp.
END_MARKERS = frozenset(
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
        "_<EOT>",
    )
)

# Where these end answers, as in gpt-oss, "<|end|>" ends only a message, and others follow.
_HARMONY_ENDS = {b"<|return|>", b"<|call|>"}
_MESSAGE_END = b"<|end|>"

# HTML's end of struck-through text in Gemma's vocabulary, where it is user-defined.
_STRIKE_END = b"</s>"

# User-defined tokens that look like this are control tokens too: they shape a chat, and some
# converters forget to mark them. llama.cpp makes them of typed text.
_TURN_MARKER = re.compile(
    rb"<\|[^<>|]+\|?>|<[^<>|]+\|>|<(?:start|end)_of_turn>|\[/?(?:INST|SYSTEM_PROMPT)\]"
)

# What files store that have no token for a role, and -1 where they store signed numbers.
_NO_TOKEN = frozenset({2**32 - 1, -1})

_BYTE_TOKEN = re.compile(rb"<0x([0-9A-F]{2})>")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    tokens: list[bytes]  # (V,) UTF-8, a space written as U+2581
    scores: NDArray[np.float32]  # (V,) the higher, the earlier merged
    types: NDArray[np.uint8]  # (V,)
    bos_id: int | None
    eos_id: int | None
    unknown_id: int
    end_ids: frozenset[int]
    # Match in text only where control tokens are asked for; markers of any type among them.
    control_ids: frozenset[int]
    add_bos: bool
    add_eos: bool
    add_space_prefix: bool
    # Phi-3's files do not say that its control tokens swallow the space after them.
    swallows_space: bool

    @classmethod
    def from_metadata(cls, metadata: "Metadata") -> "Vocabulary":
        """Raises ModelFileError where arrays or ids do not fit together."""
        tokens = metadata.strings("tokenizer.ggml.tokens")
        size = len(tokens)
        if not size:
            raise ModelFileError(metadata.path, "tokenizer.ggml.tokens", "is empty")
        scores = _column(metadata, "tokenizer.ggml.scores", size, 0.0).astype(np.float32)
        types = _column(metadata, "tokenizer.ggml.token_type", size, NORMAL).astype(np.uint8)
        eos_id = _token_id(metadata, "eos", types, 2)
        ends = {eos_id, *(_optional_token_id(metadata, role, size) for role in ("eot", "eom"))}
        markers = [token for token, text in enumerate(tokens) if text in END_MARKERS]
        is_harmony = {tokens[token] for token in markers} >= _HARMONY_ENDS
        ends.update(
            token
            for token in markers
            if not (tokens[token] == _STRIKE_END and types[token] == USER_DEFINED)
            and not (tokens[token] == _MESSAGE_END and is_harmony)
        )
        controls = np.flatnonzero((types == CONTROL) | (types == UNKNOWN)).tolist()
        user_defined = np.flatnonzero(types == USER_DEFINED).tolist()
        markers += [token for token in user_defined if _TURN_MARKER.fullmatch(tokens[token])]
        name = metadata.str("general.name", "").lower()
        return cls(
            tokens=tokens,
            scores=scores,
            types=types,
            bos_id=_token_id(metadata, "bos", types, 1),
            eos_id=eos_id,
            unknown_id=_token_id(metadata, "unknown", types) or 0,
            end_ids=frozenset(end for end in ends if end is not None),
            control_ids=frozenset([*controls, *markers]),
            add_bos=metadata.bool("tokenizer.ggml.add_bos_token", True),
            add_eos=metadata.bool("tokenizer.ggml.add_eos_token", False),
            add_space_prefix=metadata.bool("tokenizer.ggml.add_space_prefix", True),
            swallows_space="phi-3" in name or "phi3" in name,
        )

    def special_tokens(self) -> Iterator[SpecialToken]:
        """The tokens that cut text, in no order; those that are not UTF-8 match nothing."""
        user_defined = np.flatnonzero(self.types == USER_DEFINED).tolist()
        for token in self.control_ids.union(user_defined):
            try:
                text = self.tokens[token].decode()
            except UnicodeDecodeError:
                continue
            keeps_space = text in ("<unk>", "<s>", "<|endoftext|>")
            yield SpecialToken(
                token, text, token in self.control_ids, self.swallows_space and not keeps_space
            )

    def byte_ids(self) -> list[int]:
        ids: list[int] = np.flatnonzero(self.types == BYTE).tolist()
        return ids

    def byte_of(self, token: int) -> bytes:
        """The one byte that a token of type BYTE stands for; none if its text is not `<0xXX>`."""
        match = _BYTE_TOKEN.fullmatch(self.tokens[token])
        return bytes.fromhex(match[1].decode()) if match else b""


def _column(metadata: "Metadata", key: str, size: int, default: float) -> NDArray[Any]:
    """One finite number for each token, or `default` for all where the file has no such array."""
    column = metadata.numbers(key, None)
    if column is None:
        return np.full(size, default)
    if len(column) != size:
        raise ModelFileError(metadata.path, key, f"has {len(column):,} entries for {size:,} tokens")
    if not np.isfinite(column).all():
        token = int(np.argmin(np.isfinite(column)))
        raise ModelFileError(metadata.path, key, f"is {column[token]} for token {token:,}")
    return column


def _token_id(
    metadata: "Metadata", role: str, types: NDArray[np.uint8], default: int | None = None
) -> int | None:
    """The id for `role`; `default` stands in only if that token is a control token."""
    if _stored_id(metadata, role) is not None:
        return metadata.int(_key(role), maximum=len(types) - 1)
    usable = default is not None and default < len(types) and types[default] == CONTROL
    return default if usable else None


def _optional_token_id(metadata: "Metadata", role: str, size: int) -> int | None:
    """The id for `role`. One outside the vocabulary is none, as to llama.cpp: nothing needs it."""
    token = _stored_id(metadata, role)
    return token if token is not None and 0 <= token < size else None


def _stored_id(metadata: "Metadata", role: str) -> int | None:
    """What the file says, if it says that there is such a token."""
    token = metadata.int(_key(role), None, minimum=-(2**63), maximum=2**64 - 1)
    return None if token in _NO_TOKEN else token


def _key(role: str) -> str:
    return f"tokenizer.ggml.{role}_token_id"
