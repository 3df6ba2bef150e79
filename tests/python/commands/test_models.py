"""`./llm models` and docs/models.md: what is known to run, and that tests show it."""

import json
from pathlib import Path

import pytest
from support.architectures import WITH_STEPS
from support.table_models import DECODERS, ENCODING, step_cells

from llm.commands.models import Known, known, main
from llm.files.repack import PLANES
from llm.models.registry import ARCHITECTURES

ROOT = Path(__file__).parents[3]
FAMILIES = {  # columns of the table: names of formats, or how they begin
    "F32": ("f32",),
    "F16, BF16": ("f16", "bf16"),
    "Q4_0 to Q8_0": ("q4_0", "q4_1", "q5_0", "q5_1", "q8_0"),
    "Q2_K to Q6_K": ("q2_k", "q3_k", "q4_k", "q5_k", "q6_k"),
    "IQ1 to IQ4": ("iq",),
    "TQ1_0, TQ2_0": ("tq",),
    "MXFP4, NVFP4": ("mxfp4", "nvfp4"),
    "Q4_K_M": ("Q4_K_M",),
}
MODELS = {**DECODERS, **ENCODING}


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


def marks(name: str, begins: tuple[str, ...]) -> str:
    """What a cell says: R and D of all its formats, P where all run as steps, p where some do."""
    module = name.replace("-", "_")
    models = {key: model for key, model in MODELS.items() if model.architecture == module}
    columns = {column for model in models.values() for column in model.columns}
    wanted = {column for column in columns if column.startswith(begins)}
    assert wanted
    stepped = {column for key, column in step_cells() if key in models} & wanted
    if begins == ("f32",) and module in WITH_STEPS:
        stepped = wanted
    return "R D" + (" P" if stepped == wanted else " p" if stepped else "")


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_the_document_says_what_is_tested(name: str) -> None:
    text = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    [row] = [line for line in text.splitlines() if line.startswith(f"| `{name}` |")]
    cells = [cell.strip() for cell in row.strip("|").split("|")][2:]
    assert cells == [marks(name, begins) for begins in FAMILIES.values()]
