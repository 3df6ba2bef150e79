"""From a GGUF file to an answer, on the CPU: client, session and a real model, if a tiny one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.talk import GREEDY, Talk
from support.tiny_encoders import bert
from support.tiny_gemma import CONTEXT, WIDTH, write_tiny_gemma

from llm.generate.events import StateLoaded
from llm.generate.request import LoadSpec, SamplingParams

HOT = SamplingParams(temperature=1.2, top_k=0, top_p=1.0, min_p=0.0, seed=11)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_gemma(tmp_path_factory.mktemp("tiny") / "tiny.gguf")


@pytest.mark.parametrize("sampling", [GREEDY, HOT], ids=["greedy", "drawn"])
def test_a_known_beginning_changes_no_token(tiny: Path, sampling: SamplingParams) -> None:
    used = Talk()
    used.complete(tiny, "abcdefgh", sampling)
    ended, reused = used.complete(tiny, "abcdefghij", sampling)
    assert ended.stats.cached_tokens == 9  # BOS and eight bytes
    _, fresh = Talk().complete(tiny, "abcdefghij", sampling)
    assert reused == fresh
    assert len(fresh) == 8


def test_the_same_seed_gives_the_same_text_after_a_reset(tiny: Path) -> None:
    talk = Talk()
    first, _ = talk.complete(tiny, "abc", HOT, 20)
    talk.client.reset()
    second, _ = talk.complete(tiny, "abc", HOT, 20)
    assert (second.text, second.stats.cached_tokens) == (first.text, 0)


def test_a_conversation_goes_on_from_what_was_computed(tiny: Path) -> None:
    talk = Talk()
    first, _ = talk.ask(tiny, "Hi")
    assert first.reason in ("stop", "length")
    second, _ = talk.ask(tiny, "And?")
    assert second.stats.cached_tokens >= first.stats.prompt_tokens - 1
    assert [m["role"] for m in talk.client.conversation.messages()] == ["user", "assistant"] * 2


def test_a_saved_conversation_goes_on_in_another_process(tiny: Path, tmp_path: Path) -> None:
    """Another worker with a model of its own; the same tokens as where nothing was saved."""
    path = str(tmp_path / "a.state")
    first = Talk()
    first.ask(tiny, "Hi")
    first.client.save_state(path, "", with_cache=True)
    first.worker.run()
    expected, ids = first.ask(tiny, "And?")

    second = Talk()
    second.client.load_state(path, LoadSpec(str(tiny), "reference", CONTEXT))
    found, same_ids = second.ask(tiny, "And?")
    assert (found.text, same_ids) == (expected.text, ids)
    assert found.stats.cached_tokens == expected.stats.cached_tokens > 0


def test_another_model_takes_the_conversation_alone(tiny: Path, tmp_path: Path) -> None:
    path = str(tmp_path / "a.state")
    first = Talk()
    first.ask(tiny, "Hi")
    first.client.save_state(path, "", with_cache=True)
    first.worker.run()
    other = write_tiny_gemma(tmp_path / "other.gguf", metadata={"general.name": "another"})
    second = Talk()
    second.client.load_state(path, LoadSpec(str(other), "reference", CONTEXT))
    second.worker.run()
    [told] = [event for event in second.client.poll() if isinstance(event, StateLoaded)]
    assert "of tiny.gguf, and" in told.error
    assert len(second.client.conversation.messages()) == 2
    assert second.ask(tiny, "And?")[0].stats.cached_tokens == 0


@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_a_prompt_about_as_long_as_the_context(tiny: Path, extra: int) -> None:
    ended, ids = Talk().complete(tiny, "x" * (CONTEXT + extra - 1), max_tokens=0)  # and BOS
    if extra < 0:
        assert (ended.reason, len(ids)) == ("length", 1)
    else:
        assert ended.reason == "error"
        assert f"{CONTEXT + extra} tokens" in ended.error


def test_a_context_that_fills_up_ends_the_answer(tiny: Path) -> None:
    ended, ids = Talk().complete(tiny, "x" * (CONTEXT - 11), max_tokens=0)
    assert (ended.reason, len(ids), ended.stats.context_used) == ("length", 10, CONTEXT)


def test_weights_that_are_no_numbers(tmp_path: Path, tiny: Path) -> None:
    bad = np.full(WIDTH, np.nan, np.float32)
    broken = write_tiny_gemma(tmp_path / "nan.gguf", replaced={"blk.2.ffn_norm.weight": bad})
    talk = Talk()
    for _ in range(2):
        ended, _ = talk.complete(broken, "abc")
        assert (ended.reason, ended.text) == ("error", "")
        assert "NaN" in ended.error
    ended, _ = talk.complete(tiny, "abc")
    assert ended.reason == "length"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"without": ("blk.3.attn_k.weight",)}, "blk.3.attn_k.weight"),
        ({"metadata": {"gemma3.block_count": None}}, "gemma3.block_count"),
        ({"metadata": {"gemma3.block_count": 9}}, "blk.8"),
        ({"metadata": {"gemma3.attention.head_count": 0}}, "head_count"),
    ],
    ids=["a tensor is missing", "a key is missing", "more layers than tensors", "no heads"],
)
def test_files_that_do_not_hold_a_model(
    tmp_path: Path, tiny: Path, changes: dict[str, Any], named: str
) -> None:
    broken = write_tiny_gemma(tmp_path / "broken.gguf", **changes)
    talk = Talk()
    ended, _ = talk.complete(broken, "abc")
    assert ended.reason == "error"
    assert named in talk.client.load_error
    assert ended.details == ""
    ended, _ = talk.complete(tiny, "abc")
    assert ended.reason == "length", "the node goes on with a sound file"


@pytest.mark.parametrize("ask", [Talk.ask, Talk.complete], ids=["chat", "raw"])
def test_an_embedding_model_is_asked(tmp_path: Path, ask: Callable[..., Any]) -> None:
    ended, ids = ask(Talk(), bert(tmp_path / "bert.gguf"), "is the inn far?")
    assert (ended.reason, ended.text, ids) == ("error", "", [])
    assert "bert.gguf is an embedding model" in ended.error
    assert "LLMEmbedding" in ended.error
