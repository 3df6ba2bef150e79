"""The part of the LLM node that has methods of the game called by the model."""

from collections.abc import Callable as Function
from functools import partial
from typing import Any

from godot import RANGE, Callable, export, signal
from llm.errors import RequestError
from llm.generate.events import ToolsCalled
from llm.generate.tools import Tool, result_text, tool_named
from llm.nodes.conversing import Conversing
from llm.nodes.toolbox import Method, Toolbox, method_tool


class ToolCalling(Conversing):
    max_tool_rounds = export(
        int,
        default=8,
        hint=RANGE,
        hint_string="0,32,1,or_greater",
        doc="How often the model may call tools and go on, in one request; then it ends with "
        "reason error.",
        group="Tools",
    )

    tool_called = signal(
        id=int,
        name=str,
        arguments=dict,
        doc="The model calls a tool, which runs right after this.",
    )
    tool_failed = signal(
        id=int,
        name=str,
        error=str,
        doc="The model called a tool that there is not, or with other arguments than it takes, or "
        "what it wrote cannot be read. It is told so, and goes on.",
    )

    _toolbox: Toolbox

    def add_tool(self, callable: Callable, description: str) -> None:
        """Lets the model call a method of the game: [code]llm.add_tool(get_stock, "What the shop
        has.")[/code]. What it takes is read from its declaration, so all of its arguments must have
        types: bool, int, float, String, Array, Dictionary or a packed array; those with defaults
        may be left out. Its name and the names of the arguments are what the model reads: choose
        them well.

        It runs on the main thread and may be a coroutine. What it returns goes back to the model,
        as JSON where it is no text. A tool of the same name is replaced. Tools count from the next
        request on, and not for [method complete]."""
        try:
            self._toolbox.add(*method_tool(callable, description))
        except RequestError as problem:
            self._note_error(str(problem))

    def add_tool_with_schema(
        self, callable: Callable, name: str, description: str, schema: dict[Any, Any]
    ) -> None:
        """As [method add_tool], for any Callable: [param schema] is a JSON schema of type object,
        whose properties are the arguments in their order."""
        try:
            self._toolbox.add(Method(callable), Tool(name, description, schema))
        except RequestError as problem:
            self._note_error(str(problem))

    def remove_tool(self, name: str) -> None:
        """The model may not call it any more. An error where there is no such tool."""
        try:
            self._toolbox.remove(name)
        except RequestError as problem:
            self._note_error(str(problem))

    def get_tools(self) -> list[Any]:
        """What the model is told of its tools: a Dictionary with name, description and parameters,
        a JSON schema, for each."""
        return [tool.schema()["function"] for tool in self._toolbox.tools]

    def _call_tools(self, event: ToolsCalled) -> None:
        for fault in event.faults:
            self.tool_failed.emit(event.id, "", fault)
        for index, call in enumerate(event.calls):
            self.tool_called.emit(event.id, call.name, call.arguments)
            give = partial(self._conversing().give_result, event.id, index)
            try:
                tool = tool_named(self._toolbox.tools, call.name)
                arguments = tool.arguments(call.arguments)
                self._toolbox.call(tool.name, arguments, partial(_give_value, give))
            except Exception as problem:  # whatever it is, the model waits for a result
                error = str(problem)
                if not isinstance(problem, RequestError):
                    error = f"{call.name}: {type(problem).__name__}: {problem}"
                    self._note_error(error)
                give(f"error: {error}")
                self.tool_failed.emit(event.id, call.name, error)


def _give_value(give: Function[[str], None], value: Any = None) -> None:
    give(result_text(value))
