"""What a client does with a request that comes while another runs, and with turns that were."""

import pytest
from support.desk import OPTIONS, SPEC, Desk
from support.fake_model import FakeLoader, FakeModel, says

from llm.errors import RequestError
from llm.generate.client import QUEUE, REPLACE, Asked, new_request_id
from llm.generate.request import LoadSpec


def test_queued_requests_wait_for_their_turn() -> None:
    desk = Desk("One.", "Two.", "Three.")
    ids = [desk.ask(text, busy_policy=QUEUE) for text in ("a", "b", "c")]
    desk.run()
    assert desk.client.is_answering
    while desk.client.is_answering:
        desk.run()
    assert desk.ends() == [
        (request, "stop", text)
        for request, text in zip(ids, ("One.", "Two.", "Three."), strict=True)
    ]
    assert desk.contents() == ["a", "One.", "b", "Two.", "c", "Three."]


def test_the_prompt_of_a_queued_request_has_the_answer_before_it() -> None:
    desk = Desk("One.", "Two.")
    desk.ask("a")
    desk.ask("b", busy_policy=QUEUE)
    while desk.client.is_answering:
        desk.run()
    said = bytes(id for id in desk.loader.loaded[0].kv() if id < 256)
    assert said.startswith(b"user: a\nassistant: One.\nuser: b\nassistant: Two")


def test_stopping_ends_those_that_wait_too() -> None:
    desk = Desk("One.", "Two.")
    ids = [desk.ask(text, busy_policy=QUEUE) for text in ("a", "b", "c")]
    desk.worker.step(7)
    desk.client.cancel()
    desk.poll()
    assert desk.ends() == [(ids[0], "cancelled", "O"), *((one, "cancelled", "") for one in ids[1:])]
    assert not desk.client.is_answering
    desk.run()
    assert len(desk.ends()) == 3
    assert desk.contents() == ["a", "O"]


def test_a_request_replaces_the_one_that_runs() -> None:
    desk = Desk("One.", "Two.")
    first = desk.ask("a")
    waiting = desk.ask("b", busy_policy=QUEUE)
    desk.worker.step(7)
    last = desk.ask("c", busy_policy=REPLACE)
    desk.run()
    reasons = {request: reason for request, reason, _ in desk.ends()}
    assert reasons == {first: "cancelled", waiting: "cancelled", last: "stop"}
    assert desk.contents()[:3] == ["a", "O", "c"]


def test_a_queued_request_for_another_model_leaves_those_behind_it() -> None:
    loader = FakeLoader(*[lambda: FakeModel(says("One.", "Two."), chunk_size=64)] * 3)
    desk = Desk(loader=loader)
    other = LoadSpec("other.gguf", "reference", 128)
    ids = [desk.ask("a"), desk.ask("b", other, QUEUE), desk.ask("c", busy_policy=QUEUE)]
    while desk.client.is_answering:
        desk.run()
    assert [(request, reason) for request, reason, _ in desk.ends()] == [
        (request, "stop") for request in ids
    ]
    assert [path for path, *_ in loader.calls] == ["fake.gguf", "other.gguf", "fake.gguf"]


def test_an_unknown_policy() -> None:
    with pytest.raises(RequestError, match="busy_policy is 'shout'; there are reject, queue, repl"):
        Desk().ask(busy_policy="shout")


def test_a_role_goes_into_the_prompt_and_the_history() -> None:
    desk = Desk("Yes.")
    asked = Asked(new_request_id(), "It rains.", "", SPEC, OPTIONS, "system")
    desk.client.ask(asked)
    desk.run()
    roles = [message["role"] for message in desk.client.conversation.messages()]
    assert roles == ["system", "assistant"]
    assert bytes(desk.loader.loaded[0].kv()[1:]).startswith(b"system: It rains.\n")
    with pytest.raises(RequestError, match="role is 'narrator'; it must be one of system, user"):
        desk.client.ask(Asked(new_request_id(), "x", "", SPEC, OPTIONS, "narrator"))


def test_the_latest_question_is_answered_anew() -> None:
    desk = Desk("One.", "Two.", "Three.")
    for text in ("a", "b"):
        desk.ask(text)
        desk.run()
    again = new_request_id()
    desk.client.ask_again(again, "", SPEC, OPTIONS)
    desk.run()
    assert desk.ends()[-1] == (again, "stop", "Three.")
    assert desk.contents() == ["a", "One.", "b", "Three."]


def test_nothing_to_answer_anew() -> None:
    desk = Desk("One.")
    with pytest.raises(RequestError, match="does not end with an answer"):
        desk.client.ask_again(new_request_id(), "", SPEC, OPTIONS)
    running = desk.ask()
    for change in (
        lambda: desk.client.ask_again(new_request_id(), "", SPEC, OPTIONS),
        lambda: desk.client.edit_message(0, "x"),
    ):
        with pytest.raises(RequestError, match=f"request {running} is still being answered"):
            change()


def test_an_edited_message_is_what_the_next_answer_sees() -> None:
    desk = Desk("One.", "Two.")
    desk.ask("a")
    desk.run()
    desk.client.edit_message(1, "Uno.")
    desk.ask("b")
    desk.run()
    assert desk.contents() == ["a", "Uno.", "b", "Two."]
    assert b"assistant: Uno.\nuser: b" in bytes(desk.loader.loaded[0].kv()[1:])
    with pytest.raises(RequestError, match="there is no message 4; the chat history has 4"):
        desk.client.edit_message(4, "x")


@pytest.mark.parametrize("steps", range(1, 5))
def test_a_turn_stays_where_it_is_not_answered_anew(steps: int) -> None:
    desk = Desk("One.", "Two.")
    desk.ask("a")
    desk.run()
    desk.client.ask_again(new_request_id(), "", SPEC, OPTIONS)
    desk.worker.step(steps)
    desk.client.cancel()
    desk.poll()
    said = desk.ends()[-1][2]
    assert desk.contents() == ["a", said or "One."]
