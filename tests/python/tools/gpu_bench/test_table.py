"""Medians, ratios and the tables, from runs as they are recorded."""

from pathlib import Path

import pytest

from gpu_bench import results, table
from gpu_bench.results import LLAMA_CPP


def run(engine: str, prompt: float, first: float, deep: float, **more: object) -> dict:
    decode = [{"position": 128, "tps": first}, {"position": 8192, "tps": deep}]
    common = {"name": "m", "prompt_tokens": 512, "tokens": 128, "file_bytes": 2_000_000_000}
    found = {"engine": engine, "device": "GPU", "prompt_tps": prompt, "decode": decode}
    return {**common, **found, "load_s": 1.0, **more}


RUNS = [
    run("dispatch", 900, 300, 240, load_s=9.0, upload_gbps=4, first_token_s=9.5, token_bytes=1e9),
    run(LLAMA_CPP, 1000, 200, 100),
    run("dispatch", 700, 500, 400, load_s=3.0, upload_gbps=6, first_token_s=3.5, token_bytes=1e9),
    run("dispatch", 800, 400, 360, load_s=2.0, upload_gbps=5, first_token_s=2.5, token_bytes=1e9),
]


def test_medians() -> None:
    ours, theirs = results.summarize(RUNS)
    assert (ours.engine, ours.runs, ours.prompt_tps) == ("dispatch", 3, 800)
    assert ours.decode_tps == {128: 400, 8192: 360}
    assert ours.weights_gbps == {128: 400, 8192: 360}
    assert (ours.first_load_s, ours.load_s, ours.first_token_s) == (9.0, 2.5, 3.0)
    assert ours.upload_gbps == 5
    assert (theirs.engine, theirs.decode_tps) == (LLAMA_CPP, {128: 200, 8192: 100})
    assert theirs.upload_gbps is None


def test_other_amounts_of_work_are_not_mixed() -> None:
    shorter = {**RUNS[1], "prompt_tokens": 16, "prompt_tps": 1.0}
    ours, theirs, other = results.summarize([*RUNS, shorter])
    assert (theirs.runs, other.runs) == (1, 1)
    rows = table.as_json([ours, other, theirs])
    assert rows[0]["times_llama_cpp"]["prompt"] == 0.8


def test_ratios() -> None:
    ours, theirs = table.as_json(results.summarize(RUNS))
    assert ours["times_llama_cpp"] == {"prompt": 0.8, "decode": {128: 2.0, 8192: 3.6}}
    assert ours["kept_decode"] == {128: 1.0, 8192: 0.9}
    assert theirs["times_llama_cpp"]["prompt"] == 1.0
    alone = table.as_json(results.summarize(RUNS[:1]))
    assert alone[0]["times_llama_cpp"] == {"prompt": None, "decode": {}}


def test_text() -> None:
    lines = table.as_text(results.summarize(RUNS)).splitlines()
    assert lines[0].startswith("ours on GPU; llama.cpp on GPU. Medians of 1 or 3 runs")
    assert "| m | dispatch | 800 (512) | 0.80 | 400 (at 128) | 2.00 | 400 |" in lines
    assert "| m | llama.cpp | 1,000 (512) | 1.00 | 200 (at 128) | 1.00 | – |" in lines
    assert "| m | dispatch | 8,192 | 360 | 3.60 | 90 % |" in lines
    assert "| m | dispatch | 2.00 | 9.00 | 2.50 | 5.0 | 3.00 |" in lines
    for block in "\n".join(lines).split("\n\n")[1:]:
        assert len({line.count("|") for line in block.splitlines()}) == 1


def test_runs_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    assert results.read(path) == []
    for record in RUNS:
        results.append(path, record)
    assert results.read(path) == RUNS


@pytest.mark.parametrize("key", ["upload_gbps", "first_token_s"])
def test_what_was_not_measured_is_a_dash(key: str) -> None:
    record = {name: value for name, value in RUNS[0].items() if name != key}
    assert " – " in table.as_text(results.summarize([record])).splitlines()[-1]
