"""A tape falls into the parts of its model, by the names of weights."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.architectures import all_cases
from support.tiny_llama import LAYERS, write_tiny_llama

from llm.errors import RequestError
from llm.files.gguf import GgufFile
from llm.gpu.layers import EMBEDDING, HEAD, costs_of, parts_of, until_attention
from llm.gpu.operations import Attend, CacheStore, Embed, MatMul
from llm.gpu.profile import WorkTime
from llm.gpu.program import Program
from llm.models.registry import Limits, make_program


def program_of(path: Path) -> Program:
    with GgufFile.open(str(path)) as file:
        return make_program(file, Limits(64, 8, 1))


@pytest.mark.parametrize("write", all_cases())
def test_every_architecture_has_its_layers_in_their_order(
    tmp_path: Path, write: Callable[[Path], Path]
) -> None:
    program = program_of(write(tmp_path / "tiny.gguf"))
    operations = program.record(1, 1).operations
    parts = parts_of(operations)
    layers = [layer for layer, _ in parts if layer is not None]
    assert [name for _, name in parts] == [
        EMBEDDING,
        *(f"layer {layer}" for layer in range(len(layers))),
        HEAD,
    ]
    assert layers == list(range(len(layers)))
    assert [op for part in parts.values() for op in part] == operations
    costs = costs_of(operations, [])
    read = {
        weight.name: weight.size
        for op in operations
        for weight in (getattr(op, name, None) for name in op.__dataclass_fields__)
        if hasattr(weight, "format")
    }
    assert sum(cost.weight_bytes for cost in costs) == sum(read.values())
    cells = sum(cost.cell_bytes for cost in costs)
    assert cells * 64 == program.page_words * 4, "a page has 64 cells of all layers"
    assert sum(cost.state_bytes for cost in costs) == program.state_words * 4


def test_what_each_part_takes(tmp_path: Path) -> None:
    operations = program_of(write_tiny_llama(tmp_path / "tiny.gguf")).record(1, 1).operations
    first, second, *_, last = costs_of(
        operations, [WorkTime("layer 0", 5, 2.0), WorkTime(HEAD, 1, 7.0)]
    )
    assert (first.layer, second.layer, last.layer) == (None, 0, None)
    assert (first.seconds, second.seconds, last.seconds) == (0.0, 1e-5, 7e-6)
    assert second.heads == 8
    assert second.cell_bytes == 2 * 2 * 64 * 2, "keys and values of two heads, in float16"
    [embedding] = {op.weight.size for op in operations if isinstance(op, Embed)}
    assert first.weight_bytes == embedding


def test_what_attention_needs_writes_no_cell(tmp_path: Path) -> None:
    operations = program_of(write_tiny_llama(tmp_path / "tiny.gguf")).record(1, 0).operations
    before, attend = until_attention(operations, LAYERS - 1)
    assert not any(isinstance(op, CacheStore) for op in before)
    assert sum(isinstance(op, Attend) for op in before) == LAYERS - 1
    assert sum(isinstance(op, MatMul) for op in before) == 7 * (LAYERS - 1) + 3
    assert isinstance(attend, Attend)


@pytest.mark.parametrize("layer", [-1, LAYERS])
def test_a_layer_that_there_is_not(tmp_path: Path, layer: int) -> None:
    operations = program_of(write_tiny_llama(tmp_path / "tiny.gguf")).record(1, 0).operations
    with pytest.raises(RequestError, match=f"layer {layer} has no attention; .* 0, 1, 2"):
        until_attention(operations, layer)
