"""The biases of tokens that a request names."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from llm.errors import RequestError
from llm.generate.request import SamplingParams
from llm.gpu.adjustments import MASKED

if TYPE_CHECKING:
    from llm.text.tokenizer import Tokenizer

MOST_BIASES = 256  # tokens


def token_biases(params: SamplingParams, tokenizer: "Tokenizer") -> dict[int, float]:
    """By token; a bias for a text is one for each of its tokens. RequestError."""
    found: dict[int, float] = {}
    for key, bias in params.logit_bias:
        ids: Iterable[int]
        if isinstance(key, str):
            ids = tokenizer.encode(key, parse_special=True, add_bos=False)
        else:
            ids = [key]
        for id in ids:
            if not 0 <= id < tokenizer.vocab_size:
                raise RequestError(
                    f"logit_bias names token {id}; the model has 0 to {tokenizer.vocab_size - 1}"
                )
            found[id] = max(bias, float(MASKED))
    if len(found) > MOST_BIASES:
        raise RequestError(f"logit_bias names {len(found)} tokens; at most {MOST_BIASES} fit")
    return found
