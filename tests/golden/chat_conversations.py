"""Conversations that each family's template renders, and the tokens that the families use."""

from typing import Any

from llm.text.messages import Message

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "The weather in a <place>",
            "parameters": {
                "type": "object",
                "properties": {
                    "place": {"type": "string", "description": "Where & when"},
                    "_days": {"type": "integer"},
                },
                "required": ["place"],
            },
        },
    }
]


def user(content: str) -> Message:
    return {"role": "user", "content": content}


def assistant(content: str) -> Message:
    return {"role": "assistant", "content": content}


SYSTEM: Message = {"role": "system", "content": "Be brief."}
ASK = user("Weather in Zürich?")
CALL: Message = {
    "role": "assistant",
    "content": "",
    "reasoning": "I must look.",
    "tool_calls": [{"name": "weather", "arguments": {"place": "Zürich", "_days": 2}}],
}
RESULT: Message = {"role": "tool", "name": "weather", "content": '{"degrees": 21}'}

# name -> messages, tools, allow_thinking
CONVERSATIONS: dict[str, tuple[list[Message], list[dict[str, Any]], bool]] = {
    "question": ([user("Hello <b>you</b>!")], [], True),
    "system": ([SYSTEM, user("Hello!")], [], True),
    "turns": ([SYSTEM, user("One."), assistant("1"), user("Two.\nThree.")], [], True),
    "without thinking": ([SYSTEM, user("Hello!")], [], False),
    "reasoned": (
        [user("One."), {**assistant("1"), "reasoning": "Hm."}, user("Two.")],
        [],
        True,
    ),
    "tools": ([SYSTEM, ASK], TOOLS, True),
    "result": ([SYSTEM, ASK, CALL, RESULT], TOOLS, True),
    "after a result": (
        [SYSTEM, ASK, CALL, RESULT, assistant("21 degrees."), user("Thanks!")],
        TOOLS,
        False,
    ),
}

TOOLLESS = [name for name, (_, tools, _) in CONVERSATIONS.items() if not tools]

# family -> bos_token, eos_token
TOKENS = {
    "chatml": ("", "<|im_end|>"),
    "command_r": ("<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>"),
    "deepseek_r1": ("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"),  # noqa: RUF001
    "gemma_2": ("<bos>", "<eos>"),
    "gemma_3": ("<bos>", "<eos>"),
    "gemma_4": ("<bos>", "<eos>"),
    "gpt_oss": ("<|startoftext|>", "<|return|>"),
    "granite_3_3": ("<|end_of_text|>", "<|end_of_text|>"),
    "lfm_2": ("<|startoftext|>", "<|im_end|>"),
    "llama_2": ("<s>", "</s>"),
    "llama_3_1": ("<|begin_of_text|>", "<|eot_id|>"),
    "mistral_tekken": ("<s>", "</s>"),
    "mistral_v3": ("<s>", "</s>"),
    "phi_3": ("<s>", "<|endoftext|>"),
    "phi_4": ("<|endoftext|>", "<|im_end|>"),
    "phi_4_mini": ("<|endoftext|>", "<|endoftext|>"),
    "qwen_2_5": ("", "<|im_end|>"),
    "qwen_3": ("", "<|im_end|>"),
    "smollm_3": ("", "<|im_end|>"),
    "zephyr": ("<s>", "</s>"),
}

# Forms of today's date that stand in prompts.
DATES = ("%d %b %Y", "%d %B %Y", "%B %d, %Y", "%Y-%m-%d")
