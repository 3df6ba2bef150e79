"""What was measured: a file of JSON lines, one for each run, and what they have in common."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

LLAMA_CPP = "llama.cpp"


@dataclass(frozen=True)
class Summary:
    """One engine on one model: medians of its runs. `engine` is an executor, or LLAMA_CPP."""

    model: str
    engine: str
    device: str
    runs: int
    prompt_tokens: int
    tokens: int
    file_bytes: int
    prompt_tps: float
    decode_tps: dict[int, float]  # by the number of tokens before the answer
    load_s: float
    first_load_s: float  # of the first run, whose kernels the driver may have had to compile
    first_token_s: float | None  # since the load began; llama.cpp's is not measured
    upload_gbps: float | None
    weights_gbps: dict[int, float]  # read while decoding, 10^9 bytes of weights a second


def append(path: Path, record: dict[str, Any]) -> None:
    """Adds a run at once, so that a later failure loses nothing."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def read(path: Path) -> list[dict[str, Any]]:
    """The runs, in their order; none where there is no file."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def summarize(records: Iterable[dict[str, Any]]) -> list[Summary]:
    """One for each model, amount of work and engine, in the order of their first runs."""
    works: dict[tuple[Any, ...], dict[str, list[dict[str, Any]]]] = {}
    for record in records:
        work = tuple(record[key] for key in ("name", "prompt_tokens", "tokens"))
        works.setdefault(work, {}).setdefault(record["engine"], []).append(record)
    return [_summary(runs) for engines in works.values() for runs in engines.values()]


def _summary(runs: list[dict[str, Any]]) -> Summary:
    last = runs[-1]
    decode: dict[int, list[float]] = {}
    for record in runs:
        for answer in record["decode"]:
            decode.setdefault(answer["position"], []).append(answer["tps"])
    rates = {position: median(found) for position, found in sorted(decode.items())}
    token_bytes = last.get("token_bytes")
    return Summary(
        model=last["name"],
        engine=last["engine"],
        device=last["device"],
        runs=len(runs),
        prompt_tokens=last["prompt_tokens"],
        tokens=last["tokens"],
        file_bytes=last["file_bytes"],
        prompt_tps=median(record["prompt_tps"] for record in runs),
        decode_tps=rates,
        load_s=median(record["load_s"] for record in runs[1:] or runs),
        first_load_s=runs[0]["load_s"],
        first_token_s=_median_of(runs[1:] or runs, "first_token_s"),
        upload_gbps=_median_of(runs, "upload_gbps"),
        weights_gbps={}
        if token_bytes is None
        else {position: rate * token_bytes / 1e9 for position, rate in rates.items()},
    )


def _median_of(runs: list[dict[str, Any]], key: str) -> float | None:
    found = [record[key] for record in runs if record.get(key) is not None]
    return median(found) if found else None
