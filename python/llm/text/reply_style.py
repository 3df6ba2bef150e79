"""How models of a family write their reasoning and their calls of tools.

Found by the markers that stand in the file's own chat template.
"""

import re
from dataclasses import dataclass

from llm.text.folding import CALL_TAG

Pair = tuple[str, str]  # what opens a block, and what closes it; an open end closes it as well

_THINKING: tuple[Pair, ...] = (
    ("<think>", "</think>"),
    ("[THINK]", "[/THINK]"),  # Magistral, Ministral 3
    ("<|channel>thought", "<channel|>"),  # Gemma 4
    ("<seed:think>", "</seed:think>"),  # Seed-OSS
    ("<|START_THINKING|>", "<|END_THINKING|>"),  # Command R7B, Command A
    ("<|inner_prefix|>", "<|inner_suffix|>"),  # Apertus
)

_CALLS: tuple[Pair, ...] = (
    CALL_TAG,  # Hermes, Qwen, SmolLM3, Granite 4, GLM: JSON or tags within
    ("<function=", "</function>"),  # Llama 3, and Qwen3-Coder where it forgets the tag around
    ("<seed:tool_call>", "</seed:tool_call>"),
    ("<TOOLCALL>", "</TOOLCALL>"),  # Nemotron
    ("<|tool_call|>", "<|/tool_call|>"),  # Phi-4-mini; Granite 3 does not close it
    ("<|tool_call_start|>", "<|tool_call_end|>"),  # LFM2
    ("[TOOL_CALLS]", ""),  # Mistral
    ("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),  # noqa: RUF001  (DeepSeek)
    ("<|tool_call>", "<tool_call|>"),  # Gemma 4
    ("<start_function_call>", "<end_function_call>"),  # FunctionGemma
    ("<|START_ACTION|>", "<|END_ACTION|>"),  # Command R7B, Command A
    ("<|python_tag|>", ""),  # Llama 3.1
)

# They stand around an answer, and are not part of it.
_WRAPPERS: tuple[Pair, ...] = (
    ("<|START_RESPONSE|>", "<|END_RESPONSE|>"),  # Command R7B, Command A
    ("<response>", "</response>"),  # Granite 3.3
)

# Control tokens that stand within calls.
_INNER = (
    "[ARGS]",
    "[CALL_ID]",
    "<｜tool▁call▁begin｜>",  # noqa: RUF001
    "<｜tool▁sep｜>",  # noqa: RUF001
    "<｜tool▁call▁end｜>",  # noqa: RUF001
    '<|"|>',
    "<escape>",
)

# gpt-oss: header <|message|> text, and then one of those that end it.
HARMONY_TEXT = "<|message|>"
HARMONY_ENDS = ("<|end|>", "<|call|>", "<|return|>", "<|start|>")
_HARMONY = (HARMONY_TEXT, "<|channel|>", "<|constrain|>", *HARMONY_ENDS)


@dataclass(frozen=True, slots=True)
class ReplyStyle:
    thinking: tuple[Pair, ...] = ()
    calls: tuple[Pair, ...] = ()
    wrappers: tuple[str, ...] = ()
    has_bare_calls: bool = False  # an answer that is nothing but JSON calls a tool (Llama 3)
    is_harmony: bool = False  # gpt-oss's channels, in place of all the others
    # Texts of control tokens that a reply's parser has to see, though a reader must not.
    markers: frozenset[str] = frozenset()

    @classmethod
    def of_template(cls, source: str) -> "ReplyStyle":
        """For the chat template of a file; "" where it has none."""
        if "<|channel|>" in source and HARMONY_TEXT in source:
            return cls(is_harmony=True, markers=frozenset(_HARMONY))
        thinking = tuple(pair for pair in _THINKING if pair[0] in source or pair[1] in source)
        calls = tuple(pair for pair in _CALLS if pair[0] in source)
        knows_tools = re.search(r"\btools\b", source) is not None
        has_bare_calls = knows_tools and (not calls or "<|python_tag|>" in source)
        if not knows_tools and CALL_TAG not in calls:
            calls = (CALL_TAG, *calls)  # as the model is told then
        wrappers = tuple(text for pair in _WRAPPERS if pair[0] in source for text in pair)
        tokens = {opener.removesuffix("thought") for opener, _ in thinking}
        tokens |= {closer for _, closer in thinking}
        tokens |= {text for pair in calls for text in pair if text}
        tokens |= {text for text in _INNER if text in source}
        return cls(
            thinking, calls, wrappers, has_bare_calls, False, frozenset(tokens | {*wrappers})
        )
