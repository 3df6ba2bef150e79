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
from llm.text.kinds import Kind
from llm.text.markers import find_markers, is_turn_marker
from llm.text.special_tokens import SpecialToken

if TYPE_CHECKING:
    from llm.files.metadata import Metadata

# tokenizer.ggml.token_type
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6

# What files store that have no token for a role, and -1 where they store signed numbers.
_NO_TOKEN = frozenset({2**32 - 1, -1})

_BYTE_TOKEN = re.compile(rb"<0x([0-9A-F]{2})>")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    tokens: list[bytes]  # (V,) as the file spells them
    scores: NDArray[np.float32]  # (V,) the higher, the earlier merged
    types: NDArray[np.uint8]  # (V,)
    bos_id: int | None
    eos_id: int | None
    unknown_id: int | None
    end_ids: frozenset[int]
    # Match in text only where control tokens are asked for; markers of any type among them.
    control_ids: frozenset[int]
    add_bos: bool
    add_eos: bool
    add_space_prefix: bool
    # What files do not say: in Phi-3's, control tokens swallow the space after them; in some made
    # for filling in, this token that before it.
    swallows_space: bool = False
    mask: bytes | None = None

    @classmethod
    def from_metadata(cls, metadata: "Metadata", kind: Kind) -> "Vocabulary":
        """Raises ModelFileError where arrays or ids do not fit together."""
        tokens = metadata.strings("tokenizer.ggml.tokens")
        size = len(tokens)
        if not size:
            raise ModelFileError(metadata.path, "tokenizer.ggml.tokens", "is empty")
        scores = _column(metadata, "tokenizer.ggml.scores", size, 0.0).astype(np.float32)
        types = _column(metadata, "tokenizer.ggml.token_type", size, NORMAL).astype(np.uint8)
        bos_id = _token_id(metadata, "bos", types, kind.bos_id)
        eos_id = _token_id(metadata, kind.end_role, types, kind.eos_id)
        user_defined = np.flatnonzero(types == USER_DEFINED).tolist()
        markers = find_markers(tokens, frozenset(user_defined))
        types[list(markers.plain)] = NORMAL
        ends = {eos_id, *(_optional_token_id(metadata, role, size) for role in ("eot", "eom"))}
        controls = np.flatnonzero((types == CONTROL) | (types == UNKNOWN)).tolist()
        controls += [token for token in user_defined if is_turn_marker(tokens[token])]
        name = metadata.str("general.name", "").lower()
        return cls(
            tokens=tokens,
            scores=scores,
            types=types,
            bos_id=bos_id,
            eos_id=eos_id,
            unknown_id=_token_id(metadata, "unknown", types, kind.unknown_id),
            end_ids=markers.ends.union(end for end in ends if end is not None),
            control_ids=markers.controls.union(controls),
            add_bos=kind.must_add_bos
            or metadata.bool("tokenizer.ggml.add_bos_token", kind.add_bos),
            add_eos=kind.must_add_eos
            or metadata.bool("tokenizer.ggml.add_eos_token", kind.add_eos),
            add_space_prefix=metadata.bool(
                "tokenizer.ggml.add_space_prefix", kind.add_space_prefix
            ),
            swallows_space="phi-3" in name or "phi3" in name,
            mask=_mask(metadata, name),
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
                token,
                text,
                control=token in self.control_ids,
                swallows_space=self.swallows_space and not keeps_space,
                swallows_before=self.tokens[token] == self.mask,
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
    """The id for `role`; `default` stands in only if that token plays a part at all."""
    if _stored_id(metadata, role) is not None:
        return metadata.int(_key(role), maximum=len(types) - 1)
    usable = default is not None and default < len(types) and types[default] in (CONTROL, UNKNOWN)
    return default if usable else None


def _optional_token_id(metadata: "Metadata", role: str, size: int) -> int | None:
    """The id for `role`. One outside the vocabulary is none, as to llama.cpp: nothing needs it."""
    token = _stored_id(metadata, role)
    return token if token is not None and 0 <= token < size else None


def _mask(metadata: "Metadata", name: str) -> bytes | None:
    """The token that swallows the space before it. Source: llama.cpp, llama-vocab.cpp."""
    pre = metadata.str("tokenizer.ggml.pre", "")
    architecture = metadata.str("general.architecture", "")
    if any(each in pre for each in ("jina-v2-de", "jina-v2-es", "jina-v2-code")):
        return b"<mask>"
    if any(each in architecture for each in ("nomic-bert-moe", "jina-bert-v3")):
        return b"<mask>"
    return b"[MASK]" if "modern-bert" in name else None


def _stored_id(metadata: "Metadata", role: str) -> int | None:
    """What the file says, if it says that there is such a token."""
    token = metadata.int(_key(role), None, minimum=-(2**63), maximum=2**64 - 1)
    return None if token in _NO_TOKEN else token


def _key(role: str) -> str:
    return f"tokenizer.ggml.{role}_token_id"
