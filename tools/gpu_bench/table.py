"""The tables of docs/performance.md, made of what was measured."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from gpu_bench.results import LLAMA_CPP, Summary

NONE = "–"


def as_json(summaries: Sequence[Summary]) -> list[dict[str, Any]]:
    """Every figure, with its ratios to llama.cpp's on the same model."""
    rows = []
    for row in summaries:
        prompt, decode = _ratios(row, summaries)
        ratios = {"prompt": prompt, "decode": decode}
        rows.append({**asdict(row), "times_llama_cpp": ratios, "kept_decode": _kept(row)})
    return rows


def as_text(summaries: Sequence[Summary]) -> str:
    """Markdown: speeds with ratios, then speed deep in the context, then loads."""
    parts = [_conditions(summaries), _speeds(summaries)]
    if any(len(row.decode_tps) > 1 for row in summaries):
        parts.append(_depths(summaries))
    parts.append(_loads(summaries))
    return "\n\n".join(parts) + "\n"


def _conditions(summaries: Sequence[Summary]) -> str:
    devices = {
        who: sorted({row.device for row in summaries if (row.engine == LLAMA_CPP) == is_other})
        for who, is_other in (("ours on", False), ("llama.cpp on", True))
    }
    places = "; ".join(f"{who} {', '.join(found)}" for who, found in devices.items() if found)
    runs = sorted({row.runs for row in summaries})
    return (
        f"{places}. Medians of {' or '.join(map(str, runs))} runs, "
        "each itself the median of repeated measurements after a warm-up."
    )


def _speeds(summaries: Sequence[Summary]) -> str:
    rows = []
    for row in summaries:
        prompt, decode = _ratios(row, summaries)
        position, rate = next(iter(row.decode_tps.items()))
        read = row.weights_gbps.get(position)
        rows.append(
            [
                row.model,
                row.engine,
                f"{row.prompt_tps:,.0f} ({row.prompt_tokens})",
                _times(prompt),
                f"{rate:,.0f} (at {position:,})",
                _times(decode.get(position)),
                NONE if read is None else f"{read:,.0f}",
            ]
        )
    heads = ["model", "engine", "prompt, tokens/s", "times llama.cpp", "decode, tokens/s"]
    return _markdown([*heads, "times llama.cpp", "weights, GB/s"], rows)


def _depths(summaries: Sequence[Summary]) -> str:
    rows = []
    for row in summaries:
        _, decode = _ratios(row, summaries)
        kept = _kept(row)
        if kept is None:
            continue
        for position, rate in list(row.decode_tps.items())[1:]:
            times = _times(decode.get(position))
            share = f"{100 * kept[position]:.0f} %"
            rows.append([row.model, row.engine, f"{position:,}", f"{rate:,.0f}", times, share])
    heads = ["model", "engine", "tokens before", "decode, tokens/s", "times llama.cpp"]
    return _markdown([*heads, "kept of the first"], rows)


def _loads(summaries: Sequence[Summary]) -> str:
    rows = [
        [
            row.model,
            row.engine,
            f"{row.file_bytes / 1e9:.2f}",
            f"{row.first_load_s:.2f}",
            f"{row.load_s:.2f}",
            NONE if row.upload_gbps is None else f"{row.upload_gbps:.1f}",
            NONE if row.first_token_s is None else f"{row.first_token_s:.2f}",
        ]
        for row in summaries
    ]
    heads = ["model", "engine", "file, GB", "first load, s", "later loads, s"]
    return _markdown([*heads, "upload, GB/s", "first token, s"], rows)


def _ratios(row: Summary, summaries: Iterable[Summary]) -> tuple[float | None, dict[int, float]]:
    """Of the prompt's speed, and of the answer's at each position, to llama.cpp's."""
    for other in summaries:
        if other.engine == LLAMA_CPP and _work(other) == _work(row):
            both = row.decode_tps.keys() & other.decode_tps.keys()
            rates = {at: row.decode_tps[at] / other.decode_tps[at] for at in sorted(both)}
            return row.prompt_tps / other.prompt_tps, rates
    return None, {}


def _work(row: Summary) -> tuple[str, int, int]:
    return row.model, row.prompt_tokens, row.tokens


def _kept(row: Summary) -> dict[int, float] | None:
    """Of each position's speed to that at the first one; None where there is one alone."""
    if len(row.decode_tps) < 2:
        return None
    first = next(iter(row.decode_tps.values()))
    return {position: rate / first for position, rate in row.decode_tps.items()}


def _times(ratio: float | None) -> str:
    return NONE if ratio is None else f"{ratio:.2f}"


def _markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
