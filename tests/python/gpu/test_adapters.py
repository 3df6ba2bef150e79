"""Adapters on a tape, and what is said of those that do not fit a model.

The numbers are compared with llama.cpp's in tests/models/test_adapters.py.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from support.architectures import qwen3moe
from support.loading import finish
from support.logits import logits_of
from support.tiny_adapter import write_tiny_adapter
from support.tiny_gemma import write_tiny_gemma
from support.tiny_llama import WIDTH, write_tiny_llama

from llm.errors import ModelFileError
from llm.files.opening import open_model
from llm.generate.model import Model, load_model
from llm.generate.request import AdapterUse
from llm.gpu.adapters import Adapters, apply_adapters
from llm.gpu.operations import Combine, MatMul, RMSNorm
from llm.gpu.program import Batch
from llm.models.registry import Limits, make_program


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_llama(tmp_path_factory.mktemp("models") / "tiny.gguf")


def adapters_of(path: Path) -> Adapters:
    return Adapters(make_program(open_model(str(path)), Limits(96, 16, 4)))


def load(path: Path) -> Model:
    return finish(load_model(str(path), executor="reference", max_outputs=16, chunk_rows=16))


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def test_products_of_one_input_stay_together(tmp_path: Path, path: Path) -> None:
    """So that they run at once, and what comes before them can be made for all."""
    adapters = adapters_of(path)
    file = write_tiny_adapter(tmp_path / "lora.gguf", path, names=("attn_q", "attn_v", "ffn_down"))
    adapters.add(str(file), "llama")
    operations = adapters.tape(8, 1, (1,)).operations
    first = next(place for place, op in enumerate(operations) if isinstance(op, RMSNorm))
    kinds = [type(op) for op in operations[first + 1 : first + 10]]
    assert kinds == [*[MatMul] * 5, *[Combine] * 2, *[MatMul] * 2]
    assert sum(isinstance(op, Combine) for op in operations) == 3 * 3  # matrices, layers


def test_without_adapters_the_tape_is_the_same(path: Path) -> None:
    program = make_program(open_model(str(path)), Limits(96, 16, 4))
    tape, plain = program.record(8, 1), program.record(8, 1)
    apply_adapters(tape, [])
    assert tape == plain


def test_what_lies_between_two_matrices_is_used_again(tmp_path: Path, path: Path) -> None:
    """By the products of the next input."""
    adapters = adapters_of(path)
    adapters.add(str(write_tiny_adapter(tmp_path / "lora.gguf", path, rank=33)), "llama")
    more = adapters.tape(8, 1, (1,)).work_floats - adapters.tape(8, 1).work_floats
    assert more == 2 * 8 * 64  # queries and values, rows, the rank in whole parts


def test_a_run_of_different_sets_is_our_own_mistake(path: Path) -> None:
    adapters = adapters_of(path)
    adapters.adapt(2, ((1, 0.5),))
    assert adapters.gains_of(Batch([1, 1], [0, 1], [0], [2, 2])) == ((1, 0.5),)
    assert adapters.gains_of(Batch([1], [0], [0])) == ()
    with pytest.raises(ValueError, match="2 different sets"):
        adapters.gains_of(Batch([1, 1], [0, 0], [0, 1], [1, 2]))


def test_zeros_change_nothing(tmp_path: Path, path: Path) -> None:
    """One whose B is zeros, as it is before it is trained, and one of weight 0."""
    named = {f"blk.{layer}.attn_q.weight.lora_b": zeros(512, 5) for layer in range(3)}
    untrained = write_tiny_adapter(tmp_path / "a.gguf", path, names=("attn_q",), replaced=named)
    other = write_tiny_adapter(tmp_path / "b.gguf", path)
    model = load(path)
    plain = logits_of(model, range(260, 276), [16])
    model.sequences.open().adapt([AdapterUse(str(untrained)), AdapterUse(str(other), 0.0)])
    assert np.array_equal(logits_of(model, range(260, 276), [16]), plain)


@pytest.mark.parametrize(
    ("replaced", "told"),
    [
        (
            {
                "blk.7.attn_q.weight.lora_a": zeros(5, WIDTH),
                "blk.7.attn_q.weight.lora_b": zeros(512, 5),
            },
            "tensor 'blk.7.attn_q.weight.lora_a': adapts what the model has not; use the model",
        ),
        (
            {"blk.0.attn_q.weight.lora_b": zeros(500, 5)},
            "adapts a matrix of 500x320, and the model's is 512x320; use the model",
        ),
        (
            {"blk.0.attn_q.weight.lora_a": zeros(5, 640)},
            "adapts a matrix of 512x640, and the model's is 512x320; use the model",
        ),
        (
            {
                "output_norm.weight.lora_a": zeros(5, WIDTH),
                "output_norm.weight.lora_b": zeros(1, 5),
            },
            "tensor 'output_norm.weight.lora_a': adapts what is no product of all rows",
        ),
    ],
)
def test_one_of_another_model(
    tmp_path: Path, path: Path, replaced: Mapping[str, np.ndarray], told: str
) -> None:
    file = write_tiny_adapter(tmp_path / "lora.gguf", path, replaced=replaced)
    model = load(path)
    sequence, before = model.sequences.open(), model.memory_bytes
    with pytest.raises(ModelFileError) as raised:
        sequence.adapt([AdapterUse(str(file))])
    message = str(raised.value)
    assert message.startswith(f"{file}: ") and told in message and "\n" not in message
    assert model.memory_bytes == before


def test_one_of_another_architecture(tmp_path: Path, path: Path) -> None:
    gemma = write_tiny_gemma(tmp_path / "gemma.gguf")
    file = write_tiny_adapter(tmp_path / "lora.gguf", gemma)
    with pytest.raises(ModelFileError, match=r"architecture: is 'gemma3', and the model's is 'll"):
        load(path).sequences.open().adapt([AdapterUse(str(file))])


def test_a_router_may_be_adapted_and_experts_may_not(tmp_path: Path) -> None:
    model = qwen3moe.write(tmp_path / "tiny.gguf")
    router = write_tiny_adapter(tmp_path / "router.gguf", model, names=("ffn_gate_inp",))
    load(model).sequences.open().adapt([AdapterUse(str(router))])
    name = "blk.0.ffn_up_exps.weight.lora_"
    experts = write_tiny_adapter(
        tmp_path / "experts.gguf",
        model,
        replaced={f"{name}a": zeros(5, 64), f"{name}b": zeros(64, 5)},
    )
    with pytest.raises(ModelFileError, match="adapts what is no product of all rows, which"):
        load(model).sequences.open().adapt([AdapterUse(str(experts))])


def test_an_adapter_is_no_model(tmp_path: Path, path: Path) -> None:
    file = write_tiny_adapter(tmp_path / "lora.gguf", path)
    with pytest.raises(ModelFileError, match=r"general\.type: is 'adapter': it changes a model"):
        load(file)
