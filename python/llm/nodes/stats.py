"""What a node says of its model and its answer."""

from collections.abc import Sequence
from typing import Any

from llm.generate.client import Client
from llm.generate.events import Likely


def stats_of(client: Client) -> dict[str, Any]:
    """As `LLM.get_stats` describes it."""
    info, answer = client.info, client.stats
    return {
        "model": info.name if info else "",
        "architecture": info.architecture if info else "",
        "device": info.device if info else "",
        "executor": info.executor if info else "",
        "chat_format": info.chat_format if info else "",
        "context_length": info.context_length if info else 0,
        "memory_bytes": info.memory_bytes if info else 0,
        "load_s": info.load_s if info else 0.0,
        "context_used": answer.context_used,
        "prompt_tokens": answer.prompt_tokens,
        "cached_tokens": answer.cached_tokens,
        "generated_tokens": answer.generated_tokens,
        "prompt_tps": answer.prompt_tps,
        "decode_tps": answer.decode_tps,
        "token_ids": list(client.token_ids),
        "thread": answer.thread,
    }


def told_tokens(likely: Sequence[tuple[Likely, ...]]) -> list[dict[str, Any]]:
    """As `LLM.get_token_probabilities` describes it."""
    return [
        {**_told(chosen), "candidates": [_told(each) for each in others]}
        for chosen, *others in likely
    ]


def _told(likely: Likely) -> dict[str, Any]:
    return {"token": likely.token, "text": likely.text, "probability": likely.probability}
