"""Writes what llama.cpp makes of our templates: chat_templates/FAMILY.json, which the tests read.

    make_chat_templates.py MODEL

The templates are written by us after each family's published prompt format. llama.cpp renders them
by an engine of its own, and where it has the format of a family built in, it is asked for that as
well: each difference is printed. MODEL lends its tokens <bos> and <eos> (the default model).
llama.cpp comes as xllamacpp, whose server answers /apply-template.
"""

# ruff: noqa: E402  (a script beside the packages that it imports finds them itself)

import argparse
import datetime
import json
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]

import xllamacpp
from golden.chat_conversations import CONVERSATIONS, DATES, TOKENS, TOOLLESS

from llm.text.messages import Message, template_messages

TEMPLATES = HERE / "chat_templates"

# family -> llama.cpp's name of the format, and conversations that it renders in the same way. It
# puts Mistral's system text before the first question, not the last; lacks default system texts,
# dates and reasoning; begins no answer with an empty block of reasoning; and writes Llama 2's
# answers without the spaces around them.
BUILT_IN: dict[str, tuple[str, Sequence[str]]] = {
    "chatml": ("chatml", TOOLLESS),
    "command_r": ("command-r", TOOLLESS),
    "gemma_2": ("gemma", ["question", "reasoned"]),
    "gemma_3": ("gemma", TOOLLESS),
    "granite_3_3": ("granite", ["system", "turns", "without thinking"]),
    "lfm_2": ("chatml", TOOLLESS),
    "llama_2": ("llama2-sys-bos", ["question", "system", "without thinking"]),
    "mistral_tekken": ("mistral-v3-tekken", ["question", "system"]),
    "mistral_v3": ("mistral-v3", ["question", "system"]),
    "phi_3": ("phi3", TOOLLESS),
    "phi_4": ("phi4", TOOLLESS),
    "qwen_2_5": ("chatml", ["system", "turns", "without thinking"]),
    "qwen_3": ("chatml", ["question", "system", "turns"]),
    "zephyr": ("zephyr", TOOLLESS),
}

# Written by hand, and kept: llama.cpp changes the messages before its engine sees them. It folds
# a system text that Gemma 2 refuses, and gives Gemma 4 results in a form of its own.
BY_HAND = {
    "gemma_2": ("system", "turns", "without thinking"),
    "gemma_4": ("result", "after a result"),
}


class Reference:
    """llama.cpp with a template: a Jinja source, or the name of a built-in format."""

    def __init__(self, model: str, template: str, *, is_jinja: bool) -> None:
        params = xllamacpp.CommonParams()
        params.model.path = model
        params.n_ctx = 64
        params.warmup = False
        params.chat_template = template
        params.use_jinja = is_jinja
        self._server = xllamacpp.Server(params)

    def render(
        self, messages: Sequence[Message], tools: Sequence[Any], allow_thinking: bool
    ) -> str | None:
        """The prompt, without a leading BOS; None where the template refuses the messages."""
        question: dict[str, Any] = {"messages": _for_server(messages)}
        if tools:
            question["tools"] = tools
        names = {"enable_thinking": allow_thinking, "thinking": allow_thinking}
        question["chat_template_kwargs"] = names
        request = urllib.request.Request(
            f"{self._server.listening_address}/apply-template",
            json.dumps(question).encode(),
            {"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request) as answer:
                prompt: str = json.load(answer)["prompt"]
        except urllib.error.HTTPError as error:
            print(f"  refused: {error.read()[:200]!r}")
            return None
        return prompt


def _for_server(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The arguments of calls are JSON in the server's interface."""
    shaped = template_messages(messages)
    for message in shaped:
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = json.dumps(call["function"]["arguments"])
    return shaped


def undated(text: str) -> str:
    for form in DATES:
        text = text.replace(datetime.datetime.now().strftime(form), f"TODAY({form})")
    return text


def expectations(model: str, family: str) -> dict[str, str | None]:
    source = (TEMPLATES / f"{family}.jinja").read_text("utf-8")
    reference = Reference(model, source, is_jinja=True)
    bos, eos = TOKENS[family]
    stored = json.loads((TEMPLATES / f"{family}.json").read_text("utf-8"))["prompts"]
    found: dict[str, str | None] = {}
    for name, (messages, tools, allow_thinking) in CONVERSATIONS.items():
        if tools and "tool" not in source:
            continue
        if name in BY_HAND.get(family, ()):
            found[name] = stored[name]
            continue
        prompt = reference.render(messages, tools, allow_thinking)
        if prompt is not None:
            # The server takes a leading BOS away, as its tokenizer adds it.
            start = bos if "bos_token" in source else ""
            prompt = start + undated(prompt.replace("<bos>", bos).replace("<eos>", eos))
        found[name] = prompt
    return found


def compare(model: str, family: str, found: dict[str, str | None]) -> int:
    """How many conversations the built-in format renders in another way."""
    if family not in BUILT_IN:
        return 0
    format, names = BUILT_IN[family]
    reference = Reference(model, format, is_jinja=False)
    bos, eos = TOKENS[family]
    differences = 0
    for name in names:
        messages, tools, allow_thinking = CONVERSATIONS[name]
        prompt = (reference.render(messages, tools, allow_thinking) or "").removeprefix("<s>")
        prompt = prompt.replace("</s>", eos).replace("<|endoftext|>", eos).replace("<s>", bos)
        ours = (found[name] or "").removeprefix(bos)
        if ours != prompt:
            differences += 1
            print(f"  {name} differs from {format}:\n    {ours!r}\n    {prompt!r}")
    return differences


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    model = parser.parse_args().model
    differences = 0
    for family in TOKENS:
        found = expectations(model, family)
        differences += compare(model, family, found)
        fixture = {"source": f"llama.cpp in xllamacpp {xllamacpp.__version__}", "prompts": found}
        path = TEMPLATES / f"{family}.json"
        path.write_text(json.dumps(fixture, indent=1, ensure_ascii=False) + "\n", "utf-8")
        print(f"{path.name}: {len(found)} prompts")
    return 1 if differences else 0


if __name__ == "__main__":
    raise SystemExit(main())
