import pytest

from llm.errors import RequestError
from llm.generate.conversation import Conversation

HISTORY = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]


@pytest.mark.parametrize(
    ("reason", "answer", "kept"),
    [
        pytest.param("stop", "Yes.", True, id="complete"),
        pytest.param("stop_word", "Yes.", True, id="a stop word"),
        pytest.param("length", "Ye", True, id="full"),
        pytest.param("stop", "", True, id="an empty answer is an answer"),
        pytest.param("cancelled", "Ye", True, id="cancelled keeps what was said"),
        pytest.param("cancelled", "", False, id="cancelled before any text leaves no trace"),
        pytest.param("error", "Ye", False, id="an error leaves no trace"),
    ],
)
def test_what_a_turn_leaves(reason: str, answer: str, kept: bool) -> None:
    conversation = Conversation(HISTORY)
    conversation.end_turn("Is it?", answer, reason)
    turn = [{"role": "user", "content": "Is it?"}, {"role": "assistant", "content": answer}]
    assert conversation.messages() == HISTORY + (turn if kept else [])


def test_the_system_prompt_leads() -> None:
    messages = Conversation(HISTORY).asking("Is it?", "Be kind.")
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    assert messages[0]["content"] == "Be kind."
    assert Conversation(HISTORY).asking("Is it?", "")[0] == HISTORY[0]


def test_a_history_may_bring_its_own_system_prompt() -> None:
    own = [{"role": "system", "content": "Be brief."}, *HISTORY]
    messages = Conversation(own).asking("Is it?", "Be kind.")
    assert [m["content"] for m in messages if m["role"] == "system"] == ["Be brief."]


def test_messages_are_copies() -> None:
    conversation = Conversation(HISTORY)
    conversation.messages()[0]["content"] = "changed"
    conversation.messages().clear()
    assert conversation.messages() == HISTORY


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("Hi", "message 1 of the chat history is a str; it must be a Dictionary"),
        ({"content": "Hi"}, "message 1 of the chat history has role None"),
        ({"role": "narrator", "content": "Hi"}, "role 'narrator'; it must be one of system, user"),
        ({"role": "user"}, "content of type NoneType; it must be a String"),
        ({"role": "user", "content": 3}, "content of type int"),
    ],
)
def test_bad_messages(message: object, problem: str) -> None:
    with pytest.raises(RequestError, match=problem):
        Conversation([HISTORY[0], message])
