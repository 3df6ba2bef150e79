import pytest

from llm.errors import RequestError
from llm.generate.conversation import Conversation

QUESTION = {"role": "user", "content": "Is it?"}
CALLING = [
    {"role": "user", "content": "How much?"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"name": "price", "arguments": {"of": "sword"}}],
    },
    {"role": "tool", "content": "5", "name": "price"},
    {"role": "assistant", "content": "Five.", "reasoning": "It says 5."},
]
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
    turn = [QUESTION, {"role": "assistant", "content": answer}]
    conversation.end_turn(turn, reason)
    assert conversation.messages() == HISTORY + (turn if kept else [])


def test_the_system_prompt_leads() -> None:
    messages = Conversation(HISTORY).asking([QUESTION], "Be kind.")
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    assert messages[0]["content"] == "Be kind."
    assert Conversation(HISTORY).asking([QUESTION], "")[0] == HISTORY[0]


def test_a_history_may_bring_its_own_system_prompt() -> None:
    own = [{"role": "system", "content": "Be brief."}, *HISTORY]
    messages = Conversation(own).asking([QUESTION], "Be kind.")
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
        ({"role": "tool", "content": "", "name": 3}, "has name of type int; it must be a String"),
        ({"role": "assistant", "content": "", "reasoning": []}, "has reasoning of type list"),
        ({"role": "assistant", "content": "", "tool_calls": {}}, "tool_calls of type dict"),
        ({"role": "assistant", "content": "", "tool_calls": [3]}, "a tool call that is no Dict"),
        (
            {"role": "assistant", "content": "", "tool_calls": [{"name": "a"}]},
            "with a name and arguments",
        ),
    ],
)
def test_bad_messages(message: object, problem: str) -> None:
    with pytest.raises(RequestError, match=problem):
        Conversation([HISTORY[0], message])


def test_a_turn_with_tools_is_one_turn() -> None:
    conversation = Conversation(HISTORY + CALLING)
    assert conversation.messages() == HISTORY + CALLING
    assert conversation.latest_question() == CALLING[0]
    assert conversation.asking([QUESTION], "", is_again=True) == (*HISTORY, QUESTION)
    turn = [QUESTION, {"role": "assistant", "content": "Yes."}]
    conversation.end_turn(turn, "stop", is_again=True)
    assert conversation.messages() == HISTORY + turn


def test_two_rounds_of_tools() -> None:
    rounds = [*CALLING[:3], *CALLING[1:3], CALLING[2], CALLING[3]]
    conversation = Conversation(HISTORY + rounds)
    assert conversation.asking([QUESTION], "", is_again=True) == (*HISTORY, QUESTION)


def test_calls_are_copies() -> None:
    conversation = Conversation(CALLING)
    conversation.messages()[1]["tool_calls"][0]["arguments"]["of"] = "shield"
    assert conversation.messages() == CALLING
