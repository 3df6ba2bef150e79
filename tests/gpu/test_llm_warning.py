"""What a model file leaves to a guess is told in the engine's log, once, when it is loaded."""

from types import SimpleNamespace
from typing import Any, cast

from support.godot_log import engine_errors

from llm.generate.events import Loaded, ModelInfo
from llm.nodes import LLM

WARNING = 1  # Logger.ERROR_TYPE_WARNING


def told(warning: str) -> list[dict[str, Any]]:
    info = cast(ModelInfo, SimpleNamespace(tokenizer=SimpleNamespace(warning=warning)))
    node = LLM()
    try:
        with engine_errors() as errors:
            node._tell(Loaded(info))
            node._tell(Loaded(info))
    finally:
        node.free()
    return errors


def test_a_guess_is_a_warning_once():
    (warning,) = told("m.gguf: tokenizer.ggml.pre is missing")
    assert warning["type"] == WARNING
    assert "m.gguf: tokenizer.ggml.pre is missing" in warning["code"] + warning["text"]


def test_nothing_guessed_is_nothing_said():
    assert told("") == []
