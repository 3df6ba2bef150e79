"""What a client is told of an x-rayed answer; and that one which is not costs nothing."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.answering import raw, run_events, seat_at
from support.fake_model import FakeModel, says
from support.talk import GREEDY, Talk
from support.tiny_gemma import LAYERS, write_tiny_gemma

from llm.generate.events import Ended, Updated
from llm.generate.request import AnswerOptions, SamplingParams
from llm.generate.xray import AttentionXray, LayersXray, PromptXray, TokenXray

PYTHON = Path(__file__).parents[3] / "python"
XRAYED = AnswerOptions(GREEDY, 6, is_xrayed=True)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_gemma(tmp_path_factory.mktemp("tiny") / "tiny.gguf")


def test_each_token_is_told_before_its_text() -> None:
    events = run_events(seat_at(FakeModel(says("ab"))), raw("xyz", is_xrayed=True))
    kinds = [type(event) for event in events]
    assert kinds == [PromptXray, TokenXray, Updated, TokenXray, Updated, TokenXray, Ended]
    prompt, *tokens = [event for event in events if isinstance(event, PromptXray | TokenXray)]
    assert prompt == PromptXray(1, (256, *b"xyz"), ("<bos>", "x", "y", "z"))
    assert [each.position for each in tokens] == [4, 5, 6]  # type: ignore[union-attr]
    chosen = [each.choice.candidates[0].text for each in tokens]  # type: ignore[union-attr]
    assert chosen == ["a", "b", "<end>"]


def test_the_choices_are_those_of_the_answer(tiny: Path) -> None:
    events = run_events(seat_at(FakeModel(says("ab"))), raw("xyz", is_xrayed=True))
    assert [e.pages.cells for e in events if isinstance(e, TokenXray)] == [4, 5, 6]
    talk = Talk()
    talk.ask(tiny, "Hi", XRAYED)
    told = [event for event in talk.events if isinstance(event, TokenXray)]
    assert len(told) == 6
    assert [each.choice.token for each in told] == talk.client.token_ids


def test_a_token_can_be_looked_at_while_the_answer_is_made(tiny: Path) -> None:
    talk = Talk()
    talk.start(tiny, "Hi", XRAYED)
    while not any(isinstance(event, TokenXray) for event in talk.events):
        talk.worker.step()
        talk.events += talk.client.poll()
    at = next(event.position for event in talk.events if isinstance(event, TokenXray)) - 1
    talk.client.tell_attention(at, LAYERS - 1)
    talk.client.tell_attention(at + 60, 0)
    talk.client.tell_layers()
    talk.worker.step()
    talk.events += talk.client.poll()
    assert not any(isinstance(event, Ended) for event in talk.events)
    found, refused = [event for event in talk.events if isinstance(event, AttentionXray)]
    assert found.shares is not None
    assert np.allclose(found.shares.sum(axis=1), 1.0, atol=1e-5)
    assert found.shares.shape[1] == at + 1
    assert f"position is {at + 60}" in refused.error
    [layers] = [event for event in talk.events if isinstance(event, LayersXray)]
    assert len(layers.parts) == LAYERS + 2
    talk.finish()
    _, expected = Talk().ask(tiny, "Hi", AnswerOptions(GREEDY, 6))
    assert talk.client.token_ids == expected, "looking changes no token"


def test_a_look_without_a_model_says_so(tiny: Path, tmp_path: Path) -> None:
    talk = Talk()
    talk.client.tell_attention(0, 0)
    talk.client.tell_layers()
    attention, layers = talk.client.poll()
    assert isinstance(attention, AttentionXray)
    assert isinstance(layers, LayersXray)
    assert "no model is loaded" in attention.error
    assert "no model is loaded" in layers.error
    talk.client.load(talk.spec(tmp_path / "missing.gguf"))
    talk.client.tell_attention(0, 0)
    talk.worker.run()
    [told] = [event for event in talk.client.poll() if isinstance(event, AttentionXray)]
    assert told.error


def test_what_a_cancelled_answer_still_says_is_dropped(tiny: Path) -> None:
    talk = Talk()
    talk.start(tiny, "Hi", XRAYED)
    talk.worker.step(4)
    talk.client.cancel()
    talk.client.poll()
    talk.worker.run()
    assert not any(isinstance(e, PromptXray | TokenXray) for e in talk.client.poll())


@pytest.mark.parametrize("sampling", [GREEDY, SamplingParams(seed=4)], ids=["greedy", "drawn"])
def test_without_it_the_model_is_asked_for_nothing_more(sampling: SamplingParams) -> None:
    """Tokens come several a call, from the candidates that the draw needs."""
    model = FakeModel(says("abcdefgh"), ahead=4)
    run_events(seat_at(model), raw("xyz", sampling))
    k = 1 if sampling.temperature == 0.0 else sampling.top_k
    assert {asked for asked in model.asked_for} == {(k, None)}
    assert len(model.asked_for) == 9
    assert len(model.forwards) == 9, "the prompt, and a token each"


def test_without_it_none_of_its_code_is_loaded() -> None:
    """An answer of a process that does not look inside."""
    program = """
import sys
from support.answering import raw, run_events, seat_at
from support.fake_model import FakeModel, says
run_events(seat_at(FakeModel(says("ab"))), raw("xyz", is_xrayed=ON))
print("llm.generate.tracing" in sys.modules)
"""
    found = [
        subprocess.run(
            [sys.executable, "-c", program.replace("ON", is_on)],
            env={"PYTHONPATH": f"{PYTHON}:{PYTHON.parent / 'tests'}"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for is_on in ("False", "True")
    ]
    assert found == ["False", "True"]
