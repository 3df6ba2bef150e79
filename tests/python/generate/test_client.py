"""A client whose worker is stepped by hand: accepts, refuses, remembers, ends exactly once."""

import pytest
from support.desk import SPEC, Desk
from support.fake_model import FakeLoader, FakeModel, says
from support.manual_worker import ManualWorker

from llm.errors import ModelFileError, RequestError
from llm.generate.client import Client, new_request_id
from llm.generate.events import Ended, ExecutorChanged, Loaded, LoadFailed, Updated
from llm.generate.request import LoadSpec


def test_ids_differ() -> None:
    assert new_request_id() < new_request_id()


def test_no_worker_before_it_is_needed() -> None:
    def worker() -> ManualWorker:
        raise AssertionError("asked for too early")

    client = Client(worker)
    client.cancel()
    client.reset()
    assert list(client.poll()) == []
    assert client.close() == []


def test_asking_loads_and_answers() -> None:
    desk = Desk("Hello.")
    request = desk.ask()
    assert (desk.client.is_loading, desk.client.is_answering) == (True, True)
    desk.run()
    assert desk.ends() == [(request, "stop", "Hello.")]
    assert (desk.client.is_loading, desk.client.is_answering) == (False, False)
    assert desk.contents() == ["Hi", "Hello."]
    assert bytes(desk.client.token_ids) == b"Hello."
    assert desk.client.stats.generated_tokens == 6


@pytest.mark.parametrize("forward", [0, 3])
def test_what_the_model_runs_on_may_change(forward: int) -> None:
    """At any step of an answer; the client knows at once, also where that is cancelled then."""
    made: list[FakeModel] = []

    def change(number: int) -> None:
        if number == forward:
            made[0].executor = "persistent"

    def make() -> FakeModel:
        made.append(FakeModel(says("one", "two"), chunk_size=64, before_forward=change))
        return made[0]

    desk = Desk(loader=FakeLoader(make))
    desk.ask()
    while not made or len(made[0].forwards) <= forward:
        desk.worker.step()
    desk.client.cancel()
    assert desk.client.info is not None
    assert desk.client.info.executor == "persistent"
    desk.ask()
    desk.run()
    assert desk.client.info.executor == "persistent"
    changes = [event for event in desk.events if isinstance(event, ExecutorChanged)]
    assert changes == [ExecutorChanged("persistent")]


def test_the_history_goes_into_the_next_prompt() -> None:
    desk = Desk("Hello.", "Fine.")
    desk.ask("Hi")
    desk.run()
    desk.ask("How are you?")
    desk.run()
    assert desk.contents() == ["Hi", "Hello.", "How are you?", "Fine."]
    said = bytes(id for id in desk.loader.loaded[0].kv() if id < 256)
    assert said.startswith(b"user: Hi\nassistant: Hello.\nuser: How are you?\nassistant: ")


def test_completing_leaves_the_history_alone() -> None:
    desk = Desk("one")
    desk.complete("raw")
    desk.run()
    assert [end[1:] for end in desk.ends()] == [("stop", "one")]
    assert desk.contents() == []


@pytest.mark.parametrize("text", ["", " \n\t "])
def test_an_empty_prompt_is_refused(text: str) -> None:
    desk = Desk()
    with pytest.raises(RequestError, match="the prompt is empty"):
        desk.ask(text)
    with pytest.raises(RequestError, match="the prompt is empty"):
        desk.complete("")
    assert not desk.client.is_answering
    assert desk.loader.calls == []


def test_raw_text_may_be_white_space() -> None:
    desk = Desk("Hello.")
    desk.complete("\n")
    desk.run()
    assert [end[1:] for end in desk.ends()] == [("stop", "Hello.")]


def test_asking_while_answering_is_refused_and_changes_nothing() -> None:
    desk = Desk("Hello.", "Fine.")
    request = desk.ask()
    for _ in range(12):
        with pytest.raises(RequestError, match=f"request {request} is still being answered"):
            desk.ask()
        desk.worker.step()
    desk.run()
    assert desk.ends() == [(request, "stop", "Hello.")]
    second = desk.ask()
    desk.run()
    assert desk.ends()[1:] == [(second, "stop", "Fine.")]


def test_a_request_that_is_over_blocks_nobody_though_its_end_is_not_given_out() -> None:
    desk = Desk("Hello.", "Fine.")
    desk.ask()
    desk.worker.run()
    desk.ask()
    desk.run()
    assert [end[1:] for end in desk.ends()] == [("stop", "Hello."), ("stop", "Fine.")]
    assert desk.contents() == ["Hi", "Hello.", "Hi", "Fine."]


# 5 steps of loading, 2 of the prompt with the first token, then one a token, 8 to the end
@pytest.mark.parametrize("steps", [*range(12), 20])
@pytest.mark.parametrize("is_polled", [True, False])
def test_cancelled_at_any_moment(steps: int, is_polled: bool) -> None:
    desk = Desk("Hello.", "Fine.", "Fine.")
    first = desk.ask("one")
    desk.worker.step(steps)
    if is_polled:
        desk.poll()
    desk.client.cancel()
    desk.client.cancel()
    assert not desk.client.is_answering
    text = "Hello."[: max(0, steps - 6)]
    second = desk.ask("two")  # at once: nobody need wait
    desk.worker.step(30)
    desk.poll()
    reason = "stop" if steps == 20 else "cancelled"
    assert desk.ends()[0] == (first, reason, text)
    [(id, why, _)] = desk.ends()[1:]
    assert (id, why) == (second, "stop")
    assert desk.contents()[:-1] == (["one", text, "two"] if text else ["two"])
    shown = "".join(e.text for e in desk.events if isinstance(e, Updated) and e.id == first)
    assert shown == text


def test_a_failed_load_ends_the_request_and_the_next_tries_again() -> None:
    loader = FakeLoader(ModelFileError("f", "magic", "bad"), lambda: FakeModel(says("Hello.")))
    desk = Desk(loader=loader)
    first = desk.ask()
    desk.run()
    kinds = [type(event) for event in desk.events if isinstance(event, LoadFailed | Ended)]
    assert kinds == [LoadFailed, Ended]
    assert desk.ends() == [(first, "error", "")]
    assert desk.client.load_error == "f: magic: bad"
    assert desk.contents() == []
    assert not desk.client.is_loading
    second = desk.ask()
    desk.run()
    assert desk.ends()[1:] == [(second, "stop", "Hello.")]
    assert desk.client.load_error == ""


def test_loading_twice_loads_once_and_tells_both() -> None:
    desk = Desk("Hello.")
    desk.client.load(SPEC)
    desk.client.load(SPEC)
    desk.run()
    assert len([event for event in desk.events if isinstance(event, Loaded)]) == 1
    desk.client.load(SPEC)
    desk.run()
    assert len([event for event in desk.events if isinstance(event, Loaded)]) == 2
    assert len(desk.loader.calls) == 1


@pytest.mark.parametrize("steps", [0, 3, 6, 8])
def test_another_model_cancels_and_replaces(steps: int) -> None:
    loader = FakeLoader(
        lambda: FakeModel(says("abcdef"), chunk_size=64),
        lambda: FakeModel(says("new"), chunk_size=64),
    )
    if steps < 4:  # the first is never made
        loader = FakeLoader(*[lambda: FakeModel(says("new"), chunk_size=64)] * 2)
    desk = Desk(loader=loader)
    first = desk.ask()
    desk.worker.step(steps)
    other = LoadSpec("other.gguf", "reference", 128)
    desk.client.load(other)
    second = desk.ask(spec=other)
    desk.run()
    assert [end[:2] for end in desk.ends()] == [(first, "cancelled"), (second, "stop")]
    assert desk.ends()[1][2] == "new"
    assert all(model.is_closed for model in loader.loaded[:-1])


@pytest.mark.parametrize("steps", [0, 3, 6, 8, 20])
def test_closed_at_any_moment(steps: int) -> None:
    desk = Desk(loader=FakeLoader(*[lambda: FakeModel(says("Hello."), chunk_size=64)] * 2))
    first = desk.ask()
    desk.worker.step(steps)
    desk.events += desk.client.close()
    reason = "stop" if steps == 20 else "cancelled"
    assert [end[:2] for end in desk.ends()] == [(first, reason)]
    desk.run()
    assert len(desk.ends()) == 1, "what the old session still said was dropped"
    assert all(model.is_closed for model in desk.loader.loaded)
    assert desk.client.close() == []
    # and it may be used again
    second = desk.ask()
    desk.run()
    assert desk.ends()[1:] == [(second, "stop", "Hello.")]


def test_resetting_while_answering_keeps_nothing() -> None:
    desk = Desk("Hello.", "Fine.")
    first = desk.ask()
    desk.worker.step(9)
    desk.client.reset()
    assert desk.contents() == []
    desk.run()
    assert desk.ends() == [(first, "cancelled", "Hel")]
    assert desk.contents() == []


def test_after_a_reset_the_whole_prompt_is_computed() -> None:
    desk = Desk("Hello.", "Hello.")
    desk.ask()
    desk.run()
    desk.client.reset()
    desk.ask()
    desk.run()
    assert desk.client.stats.cached_tokens == 0


def test_replacing_the_history_cancels_or_changes_nothing() -> None:
    desk = Desk("Hello.", "Fine.")
    first = desk.ask()
    desk.worker.step(9)
    with pytest.raises(RequestError, match="message 0"):
        desk.client.replace_history(["bad"])
    assert desk.client.is_answering
    desk.client.replace_history([{"role": "user", "content": "new"}])
    desk.run()
    assert [end[:2] for end in desk.ends()] == [(first, "cancelled")]
    assert desk.contents() == ["new"]


def test_a_receiver_may_ask_or_close_while_events_are_given_out() -> None:
    desk = Desk("Hello.", "Fine.", "Never said.")
    desk.ask()
    desk.worker.run()
    asked = False
    for event in desk.client.poll():
        if isinstance(event, Ended) and not asked:
            asked = True
            desk.ask("again")
            desk.worker.run()
        desk.events.append(event)
    assert [end[1:] for end in desk.ends()] == [("stop", "Hello."), ("stop", "Fine.")]
    desk.ask("and again")
    desk.worker.step(3)
    for event in desk.client.poll():
        assert isinstance(event, Updated)
        desk.events += desk.client.close()
    assert [end[1:] for end in desk.ends()[2:]] == [("cancelled", "Ne")]


def test_a_stopped_worker_refuses() -> None:
    desk = Desk("Hello.")
    desk.worker.is_stopped = True
    with pytest.raises(RequestError, match="shutting down"):
        desk.ask()
    assert not desk.client.is_answering
    assert desk.client.close() == []
