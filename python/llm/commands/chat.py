"""`./llm chat` without a window: one answer to --prompt, or a conversation in the terminal.

Uses the LLM node in the tree, as a game would.
"""

import json
from typing import Any

from godot import Engine
from llm.commands.arguments import parse
from llm.commands.output import Output, reports_errors
from llm.commands.terminal_chat import TerminalChat
from llm.commands.text_file import read_text
from llm.nodes import LLM, LLMAdapter

FRAMES_PER_SECOND = 60  # without a limit a headless engine keeps a core busy with empty frames

# option -> property, where it is given
PROPERTIES = (
    *("max_tokens", "temperature", "top_k", "top_p", "min_p", "seed", "executor", "quantize"),
    *("regex", "choices"),
)


@reports_errors
def main(node: Any, args: list[str]) -> int | None:
    """Ends by quitting the tree, with status 1 when there was no answer."""
    options = parse("chat", args)
    grammar, schema = options.grammar, options.json_schema
    if grammar is not None:
        grammar = read_text("--grammar", grammar)
    if schema is not None and not schema.lstrip().startswith("{"):
        schema = read_text("--json-schema", schema)
    Engine.max_fps = FRAMES_PER_SECOND
    llm = LLM()
    llm.model_path = options.model or ""
    for name in PROPERTIES:
        if getattr(options, name) is not None:
            setattr(llm, name, getattr(options, name))
    llm.adapters = [_adapter(*each) for each in options.lora or ()]
    llm.allow_thinking = not options.no_thinking
    llm.grammar, llm.json_schema = grammar or "", schema
    node.add_child(llm)
    output = Output(on_closed=lambda: node.get_tree().quit(1))
    if options.prompt is None:
        TerminalChat(llm, output).start()
    else:
        SingleAnswer(llm, output, as_json=options.json).start(options.prompt, raw=options.raw)
    return None


def _adapter(path: str, weight: float) -> LLMAdapter:
    made = LLMAdapter()
    made.path, made.weight = path, weight
    return made


class SingleAnswer:
    """Asks once, shows the answer as it comes or as one JSON object at the end, and quits."""

    def __init__(self, llm: LLM, output: Output, *, as_json: bool) -> None:
        self._llm = llm
        self._output = output
        self._as_json = as_json
        self._pieces: list[str] = []

    def start(self, prompt: str, *, raw: bool) -> None:
        if not self._as_json:
            self._llm.reasoning_updated.connect(self._on_thought)
        self._llm.response_updated.connect(self._on_updated)
        self._llm.response_ended.connect(self._on_ended)
        if raw:
            self._llm.complete(prompt)
        else:
            self._llm.ask(prompt)

    def _on_thought(self, _request: int, text: str) -> None:
        self._output.thought(text)

    def _on_updated(self, _request: int, text: str) -> None:
        self._pieces.append(text)
        if not self._as_json:
            self._output.write(text)

    def _on_ended(self, _request: int, reason: str) -> None:
        if reason == "cancelled":
            return  # nobody stops it but the tree, when it is quitting already
        if reason == "error":
            self._output.error(self._llm.get_last_error())
        elif self._as_json:
            self._output.write(json.dumps(self._facts(reason), ensure_ascii=False) + "\n")
        else:
            self._output.write("\n")
        self._llm.get_tree().quit(1 if reason == "error" else 0)

    def _facts(self, reason: str) -> dict[str, Any]:
        stats = self._llm.get_stats()
        return {
            "text": "".join(self._pieces),
            "reasoning": self._llm.get_reasoning(),
            "token_ids": stats["token_ids"],
            "prompt_tokens": stats["prompt_tokens"],
            "finish_reason": reason,
            "device": stats["device"],
            "executor": stats["executor"],
            "timings": {name: stats[name] for name in ("load_s", "prompt_tps", "decode_tps")},
        }
