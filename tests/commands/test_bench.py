"""`./llm bench`, from the command line to the figures."""

import json

import pytest
from commands.conftest import Run


@pytest.mark.parametrize("executor", ["dispatch", "reference"])
def test_json(llm: Run, executor: str) -> None:
    words = ["--prompt-tokens", "9", "--tokens", "2", "--positions", "3,17", "--json"]
    done = llm("bench", *words, "--executor", executor)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["executor"] == executor
    assert facts["prompt_tokens"] == 9
    assert [decode["position"] for decode in facts["decode"]] == [3, 17]
    rates = [facts["prompt_tps"], *(decode["tps"] for decode in facts["decode"])]
    assert all(0.1 < rate < 1e6 for rate in rates)
    assert 0 < facts["load_s"] < facts["first_token_s"]
    if executor == "reference":
        assert facts["upload_gbps"] is None
    else:
        assert facts["memory_bytes"] / 1e9 / facts["load_s"] / 2 < facts["upload_gbps"] < 1000


def test_text(llm: Run) -> None:
    done = llm("bench", "--prompt-tokens", "9", "--tokens", "2", "--executor", "dispatch")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "GB/s" in lines[0]
    assert "(9 tokens)" in lines[2]
    assert "(2 tokens after 9)" in lines[3]


def test_parallel(llm: Run) -> None:
    words = ["--prompt-tokens", "9", "--tokens", "4", "--parallel", "3", "--executor", "dispatch"]
    done = llm("bench", *words, "--json")
    assert done.returncode == 0, done.stderr
    parallel = json.loads(done.stdout)["parallel"]
    assert parallel["answers"] == 3
    assert parallel["times"] == pytest.approx(parallel["tps"] / parallel["alone_tps"])
    assert "3 answers at once" in llm("bench", *words).stdout
