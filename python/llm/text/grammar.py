"""Which tokens may come next so that an answer keeps to a format: llguidance, over our vocabulary.

The library is imported when a format is first asked for. Everything here is one thread's.
"""

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from llm.errors import RequestError
from llm.text.answer_format import CHOICES, GBNF, JSON_SCHEMA, AnswerFormat
from llm.text.surrogates import without_surrogates

if TYPE_CHECKING:
    from llm.text.tokenizer import Tokenizer

Words = NDArray[np.uint32]

ERROR_LENGTH = 300  # characters: the library may show a whole grammar

# One way to write each value: a model must not go on with blanks for ever, and names of keys, which
# leave no choice, need no forward of their own. Without \u a name has one spelling.
JSON_OPTIONS: Any = {
    "whitespace_flexible": False,
    "item_separator": ", ",
    "key_separator": ": ",
    "json_allowed_escapes": 'nrbtf\\"',
}


class GrammarCompiler:
    """Makes matchers over one vocabulary. The first takes about 3 us a token of it longer."""

    def __init__(self, tokenizer: "Tokenizer") -> None:
        self._tokenizer = tokenizer
        self._vocabulary: Any = None

    def matcher(self, format: AnswerFormat) -> "Matcher":
        """At the beginning of an answer. Raises RequestError where the format is wrong."""
        from llguidance import LLMatcher

        if self._vocabulary is None:
            self._vocabulary = _vocabulary(self._tokenizer)
        made = LLMatcher(self._vocabulary, _grammar(format), log_level=0)
        if made.is_error():
            raise RequestError(f"{format.kind}: {_one_line(made.get_error())}")
        return Matcher(format.kind, made, self._tokenizer.vocab_size)


class Matcher:
    """Follows one answer, token by token."""

    def __init__(self, kind: str, matcher: Any, vocabulary: int) -> None:
        self._kind = kind
        self._matcher = matcher
        self._words = np.zeros(-(-vocabulary // 32), np.uint32)

    @property
    def is_complete(self) -> bool:
        """Whether the answer is whole, and nothing may follow."""
        return bool(self._matcher.is_stopped()) and not self._matcher.is_error()

    def mask(self) -> Words:
        """A bit for each token, (ceil(V / 32),), the lowest first; set where it may come.

        Tokens that end an answer may come where it is whole. Raises RequestError where the format
        turned out to be too much.
        """
        self._matcher.unsafe_compute_mask_ptr(self._words.ctypes.data, self._words.nbytes)
        self._check()
        return self._words.copy()

    def allows(self, token: int) -> bool:
        """Whether it may come next: quicker than a mask."""
        return bool(self._matcher.validate_tokens([token]) == 1)

    def accept(self, token: int) -> None:
        """It came. RequestError where it might not."""
        self._matcher.consume_token(token)
        self._check()

    def forced(self) -> list[int]:
        """Tokens that come next, as nothing else may."""
        return [] if self._matcher.is_stopped() else list(self._matcher.compute_ff_tokens())

    def _check(self) -> None:
        if self._matcher.is_error():
            raise RequestError(f"{self._kind}: {_one_line(self._matcher.get_error())}")


class _Vocabulary:
    """What llguidance wants to know of a tokenizer."""

    def __init__(self, tokenizer: "Tokenizer") -> None:
        ids = range(tokenizer.vocab_size)
        self.eos_token_id = min(tokenizer.end_ids, default=tokenizer.eos_id)
        self.bos_token_id = tokenizer.bos_id
        self.tokens = [tokenizer.piece(id) for id in ids]
        self.special_token_ids = [id for id in ids if tokenizer.is_control(id)]
        self._tokenizer = tokenizer

    def __call__(self, text: str) -> list[int]:
        return self._tokenizer.encode_more(text)


def _vocabulary(tokenizer: "Tokenizer") -> Any:
    from llguidance import LLTokenizer, TokenizerWrapper

    ends = sorted(tokenizer.end_ids) or None
    wrapped = TokenizerWrapper(_Vocabulary(tokenizer))
    return LLTokenizer(wrapped, n_vocab=tokenizer.vocab_size, eos_token=ends)


def _grammar(format: AnswerFormat) -> str:
    from llguidance import LLMatcher

    source = format.source
    if format.kind == CHOICES:
        texts = " | ".join(json.dumps(without_surrogates(text)) for text in source)
        return str(LLMatcher.grammar_from_lark(f"start: {texts}"))
    assert isinstance(source, str)
    source = without_surrogates(source)
    if format.kind == JSON_SCHEMA:
        return _json_grammar(source)
    if format.kind == GBNF:
        return str(LLMatcher.grammar_from_lark(_lark(source)))
    return str(LLMatcher.grammar_from_regex(source))


def _json_grammar(schema: str) -> str:
    from llguidance import LLMatcher

    try:
        return str(LLMatcher.grammar_from_json_schema(schema, overrides=JSON_OPTIONS))
    except ValueError as error:  # as where it is nested too deeply
        raise RequestError(f"{JSON_SCHEMA}: {_one_line(str(error))}") from error


def _lark(gbnf: str) -> str:
    from llguidance.gbnf_to_lark import gbnf_to_lark

    try:
        return str(gbnf_to_lark(gbnf))
    except Exception as error:  # the converter raises whatever its parser meets
        raise RequestError(f"{GBNF}: {_one_line(str(error))}") from error


def _one_line(error: str) -> str:
    return " ".join(error.split())[:ERROR_LENGTH] or "it was refused"
