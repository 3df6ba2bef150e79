"""Which turns of a conversation go where it no longer fits, and that the history follows."""

from typing import Any

import pytest
from support.fake_model import FakeLoader, FakeModel, says
from support.manual_worker import ManualWorker

from llm.errors import RequestError
from llm.generate.client import Client, new_request_id
from llm.generate.conversation import Conversation
from llm.generate.events import Ended, Truncated
from llm.generate.request import AnswerOptions, Asked, LoadSpec, SamplingParams
from llm.generate.truncation import drop_turns, wanted_room

GREEDY = SamplingParams(temperature=0.0)


def messages(text: str) -> list[dict[str, str]]:
    """One for each letter: s, u or a."""
    roles = {"s": "system", "u": "user", "a": "assistant"}
    return [
        {"role": roles[letter], "content": f"{letter}{place}"} for place, letter in enumerate(text)
    ]


@pytest.mark.parametrize(
    ("roles", "context", "room", "kept", "dropped"),
    [
        ("uau", 3, 0, "uau", 0),
        ("uau", 4, 1, "uau", 0),
        ("uau", 3, 1, "u", 2),
        ("suauau", 7, 1, "suauau", 0),
        ("suauau", 6, 1, "suau", 2),
        ("suauauau", 8, 1, "suauau", 2),
        ("suauau", 7, 2, "su", 4),
        ("suauau", 1, 0, "su", 4),  # what has to stay
        ("auau", 3, 1, "u", 3),
        ("uuu", 2, 0, "uu", 1),
        ("u", 0, 0, "u", 0),
        ("", 0, 0, "", 0),
    ],
)
def test_drop_turns(roles: str, context: int, room: int, kept: str, dropped: int) -> None:
    """A token is a message."""
    given = messages(roles)
    left, found = drop_turns(given, lambda some: [given.index(one) for one in some], context, room)
    assert found == dropped
    assert "".join(given[index]["content"][0] for index in left) == kept
    assert left[-1:] == [len(given) - 1][: len(given)]


@pytest.mark.parametrize(
    ("context", "most", "room"), [(400, 0, 100), (400, 50, 50), (400, 300, 100)]
)
def test_room(context: int, most: int, room: int) -> None:
    assert wanted_room(context, most) == room


class Talk:
    """A client of a model with little context, asked again and again."""

    def __init__(self, **options: Any) -> None:
        loader = FakeLoader(
            lambda: FakeModel(says(*["Yes."] * 20), chunk_size=256, context_length=128)
        )
        self.worker = ManualWorker(loader)
        self.client = Client(lambda: self.worker)
        self.options = AnswerOptions(GREEDY, **options)
        self.dropped: list[int] = []

    def ask(self, text: str) -> Ended:
        asked = Asked(new_request_id(), text, "S", LoadSpec("f", "reference", 128), self.options)
        self.client.ask(asked)
        self.worker.run()
        events = list(self.client.poll())
        self.dropped += [event.dropped for event in events if isinstance(event, Truncated)]
        ended = events[-1]
        assert isinstance(ended, Ended)
        return ended

    def contents(self) -> list[str]:
        return [message["content"] for message in self.client.conversation.messages()]


def test_the_oldest_turns_go_and_the_next_one_works() -> None:
    talk = Talk()
    for number in range(10):
        ended = talk.ask(f"question {number}")
        assert (ended.reason, ended.text) == ("stop", "Yes.")
        assert ended.stats.context_used <= 128
    assert sum(talk.dropped) == 20 - len(talk.contents())
    assert all(count % 2 == 0 for count in talk.dropped)
    assert talk.contents()[-2:] == ["question 9", "Yes."]
    assert 2 <= len(talk.contents()) <= 6
    assert len(talk.dropped) < 6, "not at each turn"


def test_one_question_that_does_not_fit() -> None:
    talk = Talk()
    talk.ask("short")
    ended = talk.ask("long " * 40)
    assert (ended.reason, ended.text) == ("error", "")
    assert "it must leave at least one for the answer" in ended.error
    assert not talk.dropped
    assert talk.contents() == ["short", "Yes."], "the conversation is not lost"
    assert talk.ask("short again").reason == "stop"


@pytest.mark.parametrize(("policy", "reason"), [("error", "error"), ("stop", "length")])
def test_other_policies(policy: str, reason: str) -> None:
    talk = Talk(context_policy=policy)
    reasons = [talk.ask(f"question {number}").reason for number in range(10)]
    assert reasons[0] == "stop"
    assert reason in reasons
    assert set(reasons) <= {"stop", "length", reason}
    assert not talk.dropped


def test_an_unknown_policy() -> None:
    with pytest.raises(RequestError, match="context_policy is 'shift'; there are error, truncate"):
        AnswerOptions(GREEDY, context_policy="shift")


def test_a_system_message_of_the_history_stays() -> None:
    conversation = Conversation(messages("suaua"))
    conversation.drop_oldest(2)
    assert [message["content"] for message in conversation.messages()] == ["s0", "u3", "a4"]
    conversation = Conversation(messages("uaua"))
    conversation.drop_oldest(2)
    assert [message["content"] for message in conversation.messages()] == ["u2", "a3"]
