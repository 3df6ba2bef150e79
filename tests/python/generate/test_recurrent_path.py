"""From a GGUF file with recurrent state to answers, which are those of one who knew nothing before.

The text is that of random weights, but each token depends on all before it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.architectures import lfm2, qwen35
from support.loading import finish
from support.random_model import VOCABULARY
from support.talk import GREEDY, Talk
from support.tiny_models import error

from llm.generate.events import StateLoaded, Truncated
from llm.generate.model import Model, Row, load_model
from llm.generate.request import AnswerOptions
from llm.generate.sequence import CachedSequence

CONTEXT = 400
PROMPT = np.random.default_rng(3).integers(0, VOCABULARY, 150).tolist()
WRITERS: dict[str, Callable[..., Path]] = {
    "lfm2": lfm2.write_tiny_lfm2,
    "qwen35": qwen35.write_tiny_qwen35,
}


@pytest.fixture(scope="module", params=WRITERS)
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    metadata = {f"{request.param}.context_length": CONTEXT}
    directory = tmp_path_factory.mktemp("tiny")
    return WRITERS[request.param](directory / "tiny.gguf", metadata=metadata)


def a_talk(messages: Any = ()) -> Talk:
    talk = Talk(CONTEXT)
    talk.client.replace_history(messages)
    return talk


def as_told_anew(path: Path, talk: Talk, text: str) -> tuple[str, list[int]]:
    """What is answered to the same conversation by a model that knows nothing of it."""
    ended, ids = a_talk(talk.client.conversation.messages()).ask(path, text)
    assert ended.stats.cached_tokens == 0
    return ended.text, ids


def load(path: Path) -> Model:
    return finish(
        load_model(str(path), executor="reference", context_length=CONTEXT, chunk_rows=64)
    )


def prefill(sequence: CachedSequence, prompt: list[int]) -> int:
    known = done = sequence.keep_common(prompt)
    while done < len(prompt):
        assert sequence.keep_common(prompt) == done
        end = sequence.chunk_end(len(prompt), sequence.model.chunk_size)
        sequence.forward(prompt[done:end], want_logits=True)
        done = end
    return known


@pytest.mark.parametrize("parts", [150, 147, 141, 100, 63, 5])
def test_a_known_beginning_gives_the_logits_of_a_fresh_run(path: Path, parts: int) -> None:
    prompt = [*PROMPT[:parts], *PROMPT[90:120]]
    model = load(path)
    sequence = model.sequences.open()
    prefill(sequence, PROMPT)
    for token in (5, 6, 7):
        sequence.forward([token], want_logits=True)
    known = prefill(sequence, prompt)
    assert known == 0 if parts < 64 else parts - 64 <= known <= parts
    found = model.logits()[0].copy()
    fresh = load(path)
    prefill(fresh.sequences.open(), prompt)
    assert error(found, fresh.logits()[0]) < 1e-5


def test_sequences_in_one_run_have_states_of_their_own(path: Path) -> None:
    model = load(path)
    sequences = [model.sequences.open() for _ in range(3)]
    prompts = [PROMPT[:90], PROMPT[:70] + PROMPT[100:111], PROMPT[3:8]]
    for sequence, prompt in zip(sequences, prompts, strict=True):
        prefill(sequence, prompt)
    for token in (3, 4, 5):
        for sequence in sequences:
            sequence.begin(1)
        model.forward_rows([Row(each.number, token, len(each)) for each in sequences[::-1]])
        found = model.logits()[::-1].copy()
        for sequence in sequences:
            sequence.end([token])
    for row, sequence in zip(found, sequences, strict=True):
        alone = load(path)
        prefill(alone.sequences.open(), sequence.ids)
        assert error(row, alone.logits()[0]) < 1e-5


def test_a_conversation_goes_on(path: Path) -> None:
    talk = a_talk()
    first, _ = talk.ask(path, "Hi")
    expected = as_told_anew(path, talk, "And then?")
    second, ids = talk.ask(path, "And then?")
    assert (second.text, ids) == expected
    assert second.stats.cached_tokens >= first.stats.prompt_tokens - 8


def test_a_question_is_answered_again(path: Path) -> None:
    talk = a_talk()
    talk.ask(path, "Hi")
    first, ids = talk.ask(path, "And then?")
    again, same = talk.ask_again(path)
    assert (again.text, same) == (first.text, ids)
    assert again.stats.cached_tokens == first.stats.prompt_tokens - 8


def test_a_message_is_edited(path: Path) -> None:
    talk = a_talk()
    talk.ask(path, "A long question, that takes some tokens, so that it runs in several chunks.")
    talk.ask(path, "And then?")
    talk.client.edit_message(2, "But then?")
    expected = as_told_anew(path, talk, "Go on.")
    found, ids = talk.ask(path, "Go on.")
    assert (found.text, ids) == expected
    assert found.stats.cached_tokens > 60


def test_a_stop_in_the_middle(path: Path) -> None:
    """Of an answer, and of a prompt."""
    talk = a_talk()
    for steps in (1, 2, 4, 9):
        talk.ask(path, "Hi")
        talk.start(path, "Tell me more, much more, of all that you know of them and of us.")
        for _ in range(steps):
            talk.worker.step()
        talk.client.cancel()
        talk.finish()
    expected = as_told_anew(path, talk, "And then?")
    found, ids = talk.ask(path, "And then?")
    assert (found.text, ids) == expected


def test_the_oldest_turns_are_left_out(path: Path) -> None:
    talk = Talk(140)
    options = AnswerOptions(GREEDY, 8, context_policy="truncate")
    for turn in range(4):
        talk.ask(path, f"Question number {turn}, please.", options)
        _, ids = talk.ask(path, "And then?", options)
        fresh = Talk(140)
        messages = talk.client.conversation.messages()[:-2]
        fresh.client.replace_history(messages)
        assert fresh.ask(path, "And then?", options)[1] == ids
    assert any(isinstance(event, Truncated) for event in talk.events)


def test_a_saved_conversation_goes_on(path: Path, tmp_path: Path) -> None:
    """With its cache: from the end of the answer, or again from the question."""
    file = str(tmp_path / "a.state")
    talk = a_talk()
    talk.ask(path, "Hi")
    talk.client.save_state(file, "", with_cache=True)
    talk.worker.run()
    for again in (False, True):
        first, second = a_talk(talk.client.conversation.messages()), Talk(CONTEXT)
        second.client.load_state(file, second.spec(path))
        expected = first.ask_again(path) if again else first.ask(path, "And then?")
        found = second.ask_again(path) if again else second.ask(path, "And then?")
        assert (found[0].text, found[1]) == (expected[0].text, expected[1])
        assert found[0].stats.cached_tokens > 0 == expected[0].stats.cached_tokens
        assert StateLoaded() in second.events
