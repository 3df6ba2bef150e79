"""Messages have the shape that templates know."""

import pytest

from llm.text.messages import template_messages, with_responses


def called(*names):
    calls = [{"name": name, "arguments": {"_x": 1}} for name in names]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def result(name=None):
    return {"role": "tool", "content": "ok"} | ({} if name is None else {"name": name})


def test_plain_messages_stay_as_they_are():
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes"}]
    assert template_messages(messages) == messages


def test_reasoning_and_calls_have_the_common_names():
    shaped = template_messages([{**called("look"), "reasoning": "Hm."}])
    assert shaped == [
        {
            "role": "assistant",
            "content": "",
            "reasoning_content": "Hm.",
            "tool_calls": [
                {
                    "id": "call00000",
                    "type": "function",
                    "function": {"name": "look", "arguments": {"_x": 1}},
                }
            ],
        }
    ]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param([called("a"), result("a")], [("a", 0)], id="one"),
        pytest.param([called("a"), result()], [("a", 0)], id="a result that names no tool"),
        pytest.param(
            [called("a", "b"), result("b"), result("a")], [("b", 1), ("a", 0)], id="out of order"
        ),
        pytest.param(
            [called("a", "a"), result("a"), result("a")], [("a", 0), ("a", 1)], id="the same twice"
        ),
        pytest.param(
            [called("a"), result("a"), called("a"), result("a")], [("a", 0), ("a", 1)], id="rounds"
        ),
        pytest.param([result("a")], [("a", 0)], id="a result without a call"),
    ],
)
def test_results_name_their_calls(messages, expected):
    shaped = [message for message in template_messages(messages) if message["role"] == "tool"]
    assert [(message["name"], message["tool_call_id"]) for message in shaped] == [
        (name, f"call{number:05}") for name, number in expected
    ]


def test_ids_have_nine_letters_or_digits():
    """Mistral's templates refuse others."""
    (shaped,) = template_messages([called(*"abcdefghijkl")])
    ids = [call["id"] for call in shaped["tool_calls"]]
    assert all(len(id) == 9 and id.isalnum() for id in ids)
    assert len(set(ids)) == 12


def test_results_may_be_part_of_the_message_that_called():
    messages = [called("a", "b"), result("a"), result("b"), {"role": "assistant", "content": "c"}]
    turn, answer = with_responses(template_messages(messages))
    assert [response["name"] for response in turn["tool_responses"]] == ["a", "b"]
    assert turn["tool_responses"][0]["response"] == "ok"
    assert "tool_responses" not in answer
    alone = template_messages([result("a")])
    assert with_responses(alone) == alone
