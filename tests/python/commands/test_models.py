"""`./llm models`: what is known to run, and that the tests it names are there."""

import json
from pathlib import Path

import pytest

from llm.commands.models import Known, known, main
from llm.files.repack import PLANES
from llm.models.registry import ARCHITECTURES

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("row", known(), ids=lambda row: f"{row.kind} {row.name}")
def test_each_has_a_test(row: Known) -> None:
    assert (ROOT / row.test).is_file()


def test_all_that_can_be_looked_up_is_listed(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(None, ["--json"]) == 0
    rows = json.loads(capfd.readouterr().out)
    names = {
        kind: {row["name"] for row in rows if row["kind"] == kind}
        for kind in ("architecture", "format")
    }
    assert names == {"architecture": set(ARCHITECTURES), "format": set(PLANES)}


def test_the_table(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(None, []) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0] == "architectures"
    assert "  llama                   tests/support/architectures/llama.py" in lines
    assert "formats" in lines
    assert "files" in lines


def test_the_document_has_a_row_for_each() -> None:
    text = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    rows = {line.split("`")[1] for line in text.splitlines() if line.startswith("| `")}
    assert rows - {"general.architecture", "quantize"} == set(ARCHITECTURES)
    named = set(text.partition("## Block formats")[2].partition("## Files")[0].split("`")[1::2])
    assert set(PLANES) <= named
