import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.small_vocabulary import small_vocabulary_file

from llm.files.gguf import GgufFile
from llm.text.tokenizer import Tokenizer

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def gemma() -> Tokenizer:
    with GgufFile.open(str(ROOT / ".models" / "gemma-3-270m-q4_k_m.gguf")) as file:
        return Tokenizer.from_metadata(file.metadata)


@pytest.fixture(scope="session")
def golden() -> Callable[[str], dict[str, Any]]:
    """What llama.cpp made of many texts: tests/golden/tokenizer_NAME.json."""

    def load(name: str) -> dict[str, Any]:
        text = (ROOT / "tests" / "golden" / f"tokenizer_{name}.json").read_text("utf-8")
        fixture: dict[str, Any] = json.loads(text)
        return fixture

    return load


@pytest.fixture
def small(tmp_path: Path) -> Callable[..., Tokenizer]:
    """A tokenizer read from a small file; arguments as those of `small_vocabulary_file`."""

    def load(**options: Any) -> Tokenizer:
        path = small_vocabulary_file(**options).write(tmp_path / "small.gguf")
        with GgufFile.open(path) as file:
            return Tokenizer.from_metadata(file.metadata)

    return load
