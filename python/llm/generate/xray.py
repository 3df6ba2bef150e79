"""What is told of an answer that is x-rayed, and what may be asked of it. Plain, frozen values.

Nothing of it is made where nobody asks: see decision 35.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llm.gpu.layers import PartCost
    from llm.gpu.program import Floats
    from llm.text.tokenizer import Tokenizer

SHOWN = 12  # candidates of a token


@dataclass(frozen=True, slots=True)
class Stage:
    """What is left of the vocabulary after one of the samplers, or before the first."""

    name: str
    left: int  # tokens that may still come
    entropy: float  # bits


@dataclass(frozen=True, slots=True)
class Candidate:
    token: int
    text: str
    probabilities: tuple[float, ...]  # at each stage; 0 where it may not come


@dataclass(frozen=True, slots=True)
class Choice:
    """How a token was chosen. Where nothing else might have come there is one stage."""

    token: int
    stages: tuple[Stage, ...]
    candidates: tuple[Candidate, ...]  # the chosen one, then others, the likeliest first


@dataclass(frozen=True, slots=True)
class PageMap:
    """Where the tokens of a sequence lie in the key/value cache."""

    cells: int  # tokens whose keys and values are there
    page_cells: int  # tokens of a page
    own: tuple[int, ...]  # numbers of its pages, in their order
    users: bytes  # of each page that there is, how many sequences have it; 255: as many or more


@dataclass(frozen=True, slots=True)
class PromptXray:
    id: int
    tokens: tuple[int, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TokenXray:
    id: int
    position: int  # of the token in the text
    choice: Choice
    pages: PageMap


@dataclass(frozen=True, slots=True)
class AttentionXray:
    """How much each head of a layer had, at a token, of the tokens up to it."""

    position: int
    layer: int
    shares: "Floats | None" = None  # (H, position + 1)
    error: str = ""  # one line, and then there are none


@dataclass(frozen=True, slots=True)
class LayersXray:
    """What each part of the model takes for a token."""

    position: int  # of that token
    parts: "tuple[PartCost, ...]" = ()
    error: str = ""


Xray = PromptXray | TokenXray | AttentionXray | LayersXray


def shown_text(tokenizer: "Tokenizer", token: int) -> str:
    """A token's text, or its name where it is no text."""
    text = tokenizer.token_text(token) if tokenizer.is_control(token) else None
    return tokenizer.piece(token).decode("utf-8", "replace") if text is None else text
