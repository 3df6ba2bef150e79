"""Templates that know less get the same words."""

import json

import pytest

from llm.text.folding import has_tools, plain_prompt, simplified, without_tools

USER = {"role": "user", "content": "Hi"}
SYSTEM = {"role": "system", "content": "Be brief."}
CALL = {"name": "look", "arguments": {"at": "<sky>"}}
CALLED = {"role": "assistant", "content": "", "tool_calls": [CALL]}
RESULT = {"role": "tool", "name": "look", "content": "blue"}
TOOL = {"type": "function", "function": {"name": "look", "description": "", "parameters": {}}}


def test_has_tools():
    assert not has_tools([SYSTEM, USER, {"role": "assistant", "content": "a"}], [])
    assert has_tools([USER], [TOOL])
    assert has_tools([CALLED], [])
    assert has_tools([RESULT], [])


@pytest.mark.parametrize("before", [[], [SYSTEM]])
def test_tools_are_described_in_the_system_message(before):
    first, *rest = without_tools([*before, USER], [TOOL])
    assert first["role"] == "system"
    assert first["content"].startswith("Be brief.\n\n" if before else "You may use these tools:")
    assert json.dumps(TOOL["function"]) in first["content"]
    assert "<tool_call>\n{" in first["content"]
    assert rest == [USER]


def test_calls_and_results_become_text():
    text = '<tool_call>\n{"name": "look", "arguments": {"at": "<sky>"}}\n</tool_call>'
    folded = without_tools([USER, CALLED, RESULT], [])
    assert folded == [
        USER,
        {"role": "assistant", "content": text},
        {
            "role": "user",
            "content": '<tool_response>\n{"name": "look", "content": "blue"}\n</tool_response>',
        },
    ]
    spoken = {**CALLED, "content": "I look.", "tool_calls": [CALL, CALL]}
    assert without_tools([spoken], [])[0]["content"] == f"I look.\n{text}\n{text}"


def test_results_of_one_turn_are_one_message():
    folded = without_tools([USER, CALLED, RESULT, RESULT, USER], [])
    assert [message["role"] for message in folded] == ["user", "assistant", "user", "user"]
    assert folded[2]["content"].count("<tool_response>") == 2


def test_simplified_keeps_calls_and_results_apart():
    messages = [SYSTEM, USER, CALLED, RESULT, RESULT, {"role": "assistant", "content": "a"}]
    assert simplified(messages) == [
        {"role": "user", "content": "Be brief.\n\nHi"},
        *messages[2:],
    ]
    assert simplified([CALLED, CALLED]) == [CALLED, CALLED]


def test_simplified_keeps_the_call_of_the_later_of_two():
    said = {"role": "assistant", "content": "I look.", "reasoning": "Hm."}
    assert simplified([said, CALLED]) == [
        {**said, "content": "I look.\n\n", "tool_calls": [CALL]},
    ]


def test_nothing_is_changed_in_place():
    messages = [SYSTEM, {**CALLED}, RESULT, RESULT]
    before = json.dumps(messages)
    simplified(messages)
    plain_prompt(without_tools(messages, [TOOL]))
    assert json.dumps(messages) == before
