"""Whatever is drawn from the masks of a schema, the answer is valid."""

import time

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from support.fake_model import END, FakeTokenizer
from support.json_schemas import SCHEMAS, check_answer

from llm.text.answer_format import AnswerFormat
from llm.text.grammar import GrammarCompiler, Matcher

COMPILER = GrammarCompiler(FakeTokenizer())  # type: ignore[arg-type]
WALKS = 4
FREE = 150  # bytes of a walk; after them it closes what it can
MOST = 2000
CLOSING = [END, *b'"]},']
SLOWEST = 1.0  # seconds to compile a schema; some 5 ms here


def test_there_are_200() -> None:
    assert len(SCHEMAS) == 200
    assert len({str(schema) for schema in SCHEMAS.values()}) == 200


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_walk_is_a_valid_answer(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])
    format = AnswerFormat.json_schema(SCHEMAS[name])
    started = time.perf_counter()
    COMPILER.matcher(format)
    assert time.perf_counter() - started < SLOWEST
    for seed in range(WALKS):
        check_answer(name, walk(COMPILER.matcher(format), seed))


def walk(matcher: Matcher, seed: int) -> str:
    random = np.random.default_rng(seed)
    said = bytearray()
    while not matcher.is_complete:
        bits = np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")
        allowed = np.flatnonzero(bits)
        token = int(random.choice(allowed))
        if len(said) > FREE:
            token = next((closing for closing in CLOSING if bits[closing]), token)
        assert len(said) < MOST, f"it does not end: {said!r}"
        matcher.accept(token)
        if token != END:
            said.append(token)
    return said.decode()
