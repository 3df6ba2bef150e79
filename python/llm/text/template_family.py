"""What kind of chat template a file has, in the words that people use for them."""

from typing import Final

# The first whose marker stands in a template names it; those that others borrow from come last.
_FAMILIES: Final = (
    ("Gemma 4", "<|turn>"),
    ("Gemma", "<start_of_turn>"),
    ("gpt-oss (Harmony)", "<|channel|>"),
    ("Llama 3", "<|start_header_id|>"),
    ("Granite", "<|start_of_role|>"),
    ("DeepSeek", "<｜Assistant｜>"),  # noqa: RUF001
    ("Command R", "<|START_OF_TURN_TOKEN|>"),
    ("Phi-4", "<|im_sep|>"),
    ("ChatML", "<|im_start|>"),
    ("Phi", "<|end|>"),
    ("Zephyr", "<|user|>"),
    ("Llama 2", "<<SYS>>"),
    ("Mistral", "[INST]"),
    ("Alpaca", "### Instruction"),
)


def template_family(source: str) -> str | None:
    """Of a chat template; "other" where it is none of those known, None where there is none."""
    if not source.strip():
        return None
    return next((name for name, marker in _FAMILIES if marker in source), "other")
