"""Reads the words of a packed step."""

from llm.gpu.steps.packing import Words


def address_at(words: Words, at: int) -> int:
    """Of two words, the lower first."""
    return int(words[at]) | int(words[at + 1]) << 32
