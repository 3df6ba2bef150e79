"""Where tables of per-layer embeddings go, and their rows from RAM."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Type
from gguf import GGUFReader, quants
from support.architectures.gemma4 import CONTEXT, write_gemma4

from llm.files.formats import FORMATS_BY_NAME
from llm.files.gguf import GgufFile
from llm.files.opening import open_model
from llm.gpu.host_tables import MAX_FAR_BYTES, HostTable, fit_device, host_tables
from llm.gpu.operations import Weight
from llm.gpu.program import Program
from llm.models.registry import Limits, make_program

TABLE = "per_layer_token_embd.weight"


def program_of(path: Path) -> Program:
    with GgufFile.open(str(path)) as file:
        return make_program(file, Limits(CONTEXT, 32, 8))


def device(**changes: Any) -> Any:
    return SimpleNamespace(**{"is_cpu": False, "has_addresses": True, "memory": 1 << 40} | changes)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    formats = {"per_layer_token_embd": Type.Q8_0}
    return write_gemma4(tmp_path_factory.mktemp("models") / "tiny.gguf", formats=formats)


@pytest.fixture(scope="module")
def program(path: Path) -> Program:
    return program_of(path)


def test_the_table_is_no_weight(program: Program) -> None:
    assert [table.name for table in program.tables] == [TABLE]
    assert TABLE not in {weight.name for weight in program.weights}


def test_half_of_the_memory_is_enough(program: Program) -> None:
    weights = (*program.weights, *program.tables)
    sizes = [weight.format.size_of(weight.rows * weight.columns) for weight in weights]
    needed = sum(sizes) + program.cache_bytes
    assert fit_device(program, device(memory=2 * needed))
    assert not fit_device(program, device(memory=2 * needed - 1))
    assert not fit_device(program, device(memory=0))


@pytest.mark.parametrize(
    "changes", [{"is_cpu": True}, {"has_addresses": False}], ids=["software", "no addresses"]
)
def test_devices_that_have_none(program: Program, changes: dict[str, Any]) -> None:
    assert not fit_device(program, device(**changes))


@pytest.mark.parametrize(
    ("name", "rows", "fits"),
    [
        pytest.param("q8_0", MAX_FAR_BYTES // 34, True, id="as large as a buffer may be"),
        pytest.param("q8_0", MAX_FAR_BYTES // 34 + 1, False, id="too large for a buffer"),
        pytest.param("q2_0", 8, False, id="a format that no kernel reads"),
    ],
)
def test_tables_that_fit(program: Program, name: str, rows: int, fits: bool) -> None:
    form = FORMATS_BY_NAME[name]
    table = Weight(TABLE, form, rows, form.values)
    assert fit_device(replace(program, tables=(table,)), device()) == fits


def test_a_table_in_ram_is_not_quantised(tmp_path: Path) -> None:
    """It stays where it is mapped; on a device it is as small as was asked for."""
    path = write_gemma4(tmp_path / "tiny.gguf", formats={"per_layer_token_embd": Type.F16})
    [stored] = [tensor for tensor in GGUFReader(path).tensors if tensor.name == TABLE]
    with open_model(str(path), "q8_0") as file:
        program = make_program(file, Limits(CONTEXT, 32, 8))
        assert [table.format.name for table in program.tables] == ["q8_0"]
        table = host_tables(program, file)[TABLE]
    assert np.array_equal(table.rows([7, 0]), stored.data[[7, 0]].astype(np.float32))
    assert not table._blocks.flags.owndata


def test_rows(path: Path, program: Program) -> None:
    [stored] = [tensor for tensor in GGUFReader(path).tensors if tensor.name == TABLE]
    expected = quants.dequantize(stored.data, Type.Q8_0)
    with GgufFile.open(str(path)) as file:
        table = host_tables(program, file)[TABLE]
        assert host_tables(replace(program, tables_in_ram=False), file) == {}
    assert isinstance(table, HostTable)
    for ids in ([7], [299, 0, 5, 5]):
        assert np.array_equal(table.rows(ids), expected[ids])
