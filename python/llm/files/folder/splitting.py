"""Names how a tokenizer.json splits text before it merges, as `tokenizer.ggml.pre` does.

Converters tell tokenizers apart by what they make of one long text. Here the pattern itself is
looked at: what runs of digits and letters it takes is all in which the families differ.
"""

import re
from collections.abc import Mapping
from typing import Any

from llm.files.folder.tokenizer_json import parts_of


def splitting_name(found: Mapping[str, Any], *, ignores_merges: bool) -> str | None:
    """One of llama.cpp's names, or None where the pattern is none that is known.

    `found` is a tokenizer.json; `ignores_merges` says that what is a token as a whole is taken so.
    """
    parts = parts_of(found.get("pre_tokenizer"))
    patterns = [_pattern(part) for part in parts if part.get("type") == "Split"]
    if not patterns:
        return _without_patterns(parts)
    main = patterns[-1]
    threes = "\\p{N}{1,3}" in main
    if "\\p{Lu}" in main:
        return "gpt-4o" if threes else "tekken"
    if patterns[0] == "\\p{N}{1,3}" and len(patterns) > 1:
        return "deepseek-v3"
    small = re.sub(r"\[(\w)\w\]", r"\1", main)  # some spell out both cases: '[tT]
    if len(patterns) > 1 or "\\p{N}" not in main or "'s|'t|'re" not in small:
        return None
    if "\\p{M}" in main:
        return "qwen35"
    if threes:
        return "llama-bpe" if ignores_merges else "smaug-bpe"
    return "qwen2"


def _without_patterns(parts: list[dict[str, Any]]) -> str | None:
    """GPT-2's own pattern is part of the byte level; some split single digits before."""
    kinds = [part.get("type") for part in parts]
    if kinds == ["ByteLevel"] and parts[0].get("use_regex", True):
        return "gpt-2"
    if kinds == ["Digits", "ByteLevel"] and parts[0].get("individual_digits"):
        return "smollm"
    return None


def _pattern(part: Mapping[str, Any]) -> str:
    pattern = part.get("pattern")
    regex = pattern.get("Regex") if isinstance(pattern, dict) else None
    return regex if isinstance(regex, str) else ""
