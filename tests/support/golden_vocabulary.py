"""The small vocabularies that tests/golden/make_merging_fixtures.py stored with llama.cpp's ids."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

from support.trained_vocabulary import vocabulary_metadata

from llm.text.tokenizer import Tokenizer

_GOLDEN = Path(__file__).parents[1] / "golden"


@cache
def fixture(kind: str) -> dict[str, Any]:
    """Settings, variants of these, and rows: of "ranks", "characters", "words" or "likely"."""
    stored = gzip.decompress((_GOLDEN / f"merging_{kind}.json.gz").read_bytes())
    found: dict[str, Any] = json.loads(stored)
    return found


@cache
def tokenizer(kind: str, variant: int = 0) -> Tokenizer:
    settings = fixture(kind)["settings"] | fixture(kind)["variants"][variant]
    return Tokenizer.from_metadata(vocabulary_metadata(settings))
