"""Tools that a model calls: their results join the turn, and the model goes on."""

from dataclasses import replace

import pytest
from support.desk import OPTIONS, SPEC, Desk
from support.fake_model import FakeLoader, FakeModel, says

from llm.generate.client import new_request_id
from llm.generate.events import ToolsCalled
from llm.generate.request import Asked
from llm.generate.tools import Tool

LONG = replace(SPEC, context_length=1024)
PRICE = Tool(
    "price",
    "What an item costs.",
    {"type": "object", "properties": {"of": {"type": "string"}}, "required": ["of"]},
)
CALL = '<tool_call>{"name": "price", "arguments": {"of": "sword"}}</tool_call>'
OTHER = '<tool_call>{"name": "price", "arguments": {"of": "shield"}}</tool_call>'
BROKEN = '<tool_call>{"name": "price", "arg</tool_call>'


class Counter(Desk):
    """Where a question with tools is asked, and its calls are answered by hand."""

    def __init__(self, *answers: str) -> None:
        script = says(*answers)
        super().__init__(
            loader=FakeLoader(lambda: FakeModel(script, chunk_size=64, context_length=1024))
        )

    def ask_with_tools(self, **options: int) -> int:
        given = replace(OPTIONS, tools=(PRICE,), **options)
        asked = Asked(new_request_id(), "How much?", "", LONG, given)
        self.client.ask(asked)
        self.run()
        return asked.id

    def calls(self) -> list[ToolsCalled]:
        return [event for event in self.events if isinstance(event, ToolsCalled)]


def test_a_result_goes_back_and_the_model_goes_on() -> None:
    desk = Counter(f"Let me see. {CALL}", "It costs 5.")
    id = desk.ask_with_tools()
    assert desk.ends() == []
    assert desk.client.is_answering
    [called] = desk.calls()
    assert [(call.name, call.arguments) for call in called.calls] == [("price", {"of": "sword"})]
    desk.client.give_result(id, 0, "5")
    desk.run()
    assert desk.ends() == [(id, "stop", "Let me see.It costs 5.")]
    assert desk.client.conversation.messages() == [
        {"role": "user", "content": "How much?"},
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [{"name": "price", "arguments": {"of": "sword"}}],
        },
        {"role": "tool", "content": "5", "name": "price"},
        {"role": "assistant", "content": "It costs 5."},
    ]


def test_all_results_are_awaited_in_any_order() -> None:
    desk = Counter(CALL + OTHER, "5 and 7.")
    id = desk.ask_with_tools()
    desk.client.give_result(id, 1, "7")
    desk.client.give_result(id, 1, "a second result of one call")
    desk.run()
    assert desk.ends() == []
    desk.client.give_result(id, 0, "5")
    desk.run()
    assert desk.ends() == [(id, "stop", "5 and 7.")]
    assert [m["content"] for m in desk.client.conversation.messages()[2:4]] == ["5", "7"]


def test_a_call_that_cannot_be_read_goes_back_at_once() -> None:
    desk = Counter(BROKEN, "Sorry.")
    desk.ask_with_tools()
    assert [called.calls for called in desk.calls()] == [()]
    desk.run()
    [(_, reason, text)] = desk.ends()
    assert (reason, text) == ("stop", "Sorry.")
    tool = desk.client.conversation.messages()[2]
    assert tool["role"] == "tool"
    assert tool["content"].startswith("error: ")


def test_rounds_are_limited() -> None:
    desk = Counter(CALL, CALL, CALL)
    id = desk.ask_with_tools(max_tool_rounds=2)
    for _ in range(2):
        desk.client.give_result(id, 0, "5")
        desk.run()
    [(_, reason, _)] = desk.ends()
    assert reason == "error"
    assert "more than 2 rounds" in desk.events[-1].error  # type: ignore[union-attr]
    assert desk.client.conversation.messages() == []
    assert not desk.client.is_answering


@pytest.mark.parametrize("is_late", [False, True])
def test_a_stop_while_a_tool_is_at_work(is_late: bool) -> None:
    desk = Counter(f"Wait. {CALL}", "It costs 5.", "New.")
    id = desk.ask_with_tools()
    desk.client.cancel()
    desk.run()
    assert desk.ends() == [(id, "cancelled", "Wait.")]
    if is_late:
        desk.client.give_result(id, 0, "5")
        desk.run()
    assert len(desk.ends()) == 1
    assert not desk.client.is_answering
    assert desk.client.conversation.messages() == []
    assert desk.ask(spec=LONG) > id
    desk.run()
    assert len(desk.ends()) == 2, "the next turn works"


def test_regenerate_replaces_the_whole_turn() -> None:
    desk = Counter(CALL, "It costs 5.", "It costs five.")
    id = desk.ask_with_tools()
    desk.client.give_result(id, 0, "5")
    desk.run()
    desk.client.ask_again(new_request_id(), "", LONG, OPTIONS)
    desk.run()
    assert desk.contents() == ["How much?", "It costs five."]


def test_without_tools_a_call_is_text() -> None:
    desk = Counter(CALL)
    desk.ask(spec=LONG)
    desk.run()
    [(_, reason, text)] = desk.ends()
    assert (reason, text) == ("stop", CALL)
