"""The tokens of a folder, as `tokenizer.ggml.*` has them."""

import re
from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from llm.errors import ModelFileError

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)  # tokenizer.ggml.token_type
MAX_TOKENS: Final = 1 << 20

# Marked by some folders as text, though they shape a chat or stand for nothing.
_CONTROL: Final = re.compile(r"<\|.*\|>|<｜.*｜>|<unused\d+>|<pad>|<mask>", re.DOTALL)  # noqa: RUF001


@dataclass(slots=True)
class Vocabulary:
    """What `tokenizer.ggml.*` say of it."""

    model: str
    tokens: list[bytes]
    types: np.ndarray  # (V,) int32
    scores: np.ndarray | None = None  # (V,) float32
    merges: list[bytes] | None = None  # two tokens with a space between, the first merged first
    further: dict[str, Any] = field(default_factory=dict)
    visible: Set[str] = frozenset()  # texts that are text, however they are marked

    def add(self, path: str, added: Iterable[dict[str, Any]], size: int) -> None:
        """Puts added tokens in their places, and fills up to `size` with tokens of no use.

        `added` are objects of "id", "content" and "special". Raises ModelFileError.
        """
        found: dict[int, tuple[bytes, int]] = {}
        for entry in added:
            id, text = entry.get("id"), entry.get("content")
            if type(id) is not int or not 0 <= id < MAX_TOKENS or not isinstance(text, str):
                problem = f"has an entry without a content, or an id from 0 to {MAX_TOKENS - 1:,}"
                raise ModelFileError(path, "added_tokens", problem)
            is_marked = entry.get("special") is True or _CONTROL.fullmatch(text)
            is_control = is_marked and text not in self.visible
            kept = text if is_control or self.model == "gpt2" else text.replace("▁", " ")
            found[id] = kept.encode("utf-8", "replace"), CONTROL if is_control else USER_DEFINED
        size = max(size, len(self.tokens), max(found, default=-1) + 1)
        before, more = len(self.tokens), size - len(self.tokens)
        self.tokens += [b"[PAD%d]" % id for id in range(before, size)]
        self.types = np.concatenate([self.types, np.full(more, UNUSED, np.int32)])
        if self.scores is not None:
            self.scores = np.concatenate([self.scores, np.full(more, -1000.0, np.float32)])
        for id, (token, kind) in found.items():
            self.tokens[id] = token
            if self.types[id] != UNKNOWN:
                self.types[id] = kind

    def metadata(self) -> dict[str, Any]:
        values: dict[str, Any] = {
            "model": self.model,
            "tokens": self.tokens,
            "token_type": self.types,
            "scores": self.scores,
            "merges": self.merges,
            **self.further,
        }
        given = {key: value for key, value in values.items() if value is not None}
        return {f"tokenizer.ggml.{key}": value for key, value in given.items()}
