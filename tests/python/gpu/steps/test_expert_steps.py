"""Experts become two steps a layer, whose lanes multiply what the token's experts have."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Type
from support.architectures import gpt_oss, qwen3moe
from support.glsl_constants import shared_bytes

from llm.files.gguf import GgufFile
from llm.gpu.kernels.shader_source import expand_kernel
from llm.gpu.operations import (
    ExpertMatMul,
    ExpertSum,
    GatedUnit,
    MatMul,
    Operation,
    Route,
    Tensor,
    Weight,
)
from llm.gpu.steps.ahead import load_ahead
from llm.gpu.steps.errors import NoStepError
from llm.gpu.steps.fusion import fuse
from llm.gpu.steps.packing import Grid
from llm.gpu.steps.step_sizes import StepSizes
from llm.gpu.steps.steps import NEXT_STRIDE, Epilogue, Product, Prologue
from llm.gpu.steps.tags import NO_PLACES, tag_steps
from llm.gpu.tape import Tape
from llm.models.registry import Limits, make_program
from llm.models.weights import F32

GRID = Grid(3, 32)
EACH = qwen3moe.USED * qwen3moe.FEED_FORWARD


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> Tape:
    path = qwen3moe.write(tmp_path_factory.mktemp("models") / "tiny.gguf")
    return make_program(GgufFile.open(str(path)), Limits(96, 8, 1)).record(1, 1)


def products_of(tape: Tape) -> list[Product]:
    sizes = StepSizes(tape)
    steps = fuse(tape, sizes.scratch(tape.work_floats))
    return [step for step in steps if isinstance(step, Product)]


def operation(tape: Tape, kind: type[Any], at: int = 0) -> Any:
    return [op for op in tape.operations if isinstance(op, kind)][at]


def changed(tape: Tape, kind: type[Operation], at: int = 0, **changes: Any) -> Tape:
    op = operation(tape, kind, at)
    operations = [replace(op, **changes) if it is op else it for it in tape.operations]
    return replace(tape, operations=operations)


def test_a_layer_is_six_steps(tape: Tape) -> None:
    steps = fuse(tape, StepSizes(tape).scratch(tape.work_floats))
    assert len(steps) == 6 * qwen3moe.LAYERS + 1
    router, first, second = (step for step in steps[3:6] if isinstance(step, Product))
    gates, ups, downs = (operation(tape, ExpertMatMul, at) for at in range(3))
    route = operation(tape, Route)
    assert (router.prologue, router.outputs) == (Prologue.NORM, [route.logits])
    assert (first.prologue, first.epilogue) == (Prologue.NORM, Epilogue.GATED)
    assert (first.norm, first.weights) == (router.norm, [gates.weight, ups.weight])
    assert (first.y, first.x_out) == (route.logits, route.choice.rows)
    assert (second.prologue, second.epilogue) == (Prologue.PLAIN, Epilogue.ADD)
    assert (second.x, second.y, second.width) == (downs.x, route.choice.rows, EACH)
    assert second.outputs == [operation(tape, ExpertSum).y]


def test_rows_of_a_step_are_those_of_used_experts(tape: Tape) -> None:
    first, second = products_of(tape)[3:5]
    assert first.pack(1, lambda _: [0], GRID, 3)[10] == EACH
    assert "multiply_f32_0_96(" in first.case(GRID)
    assert second.pack(1, lambda _: [0], GRID, 3)[10] == qwen3moe.WIDTH
    assert "multiply_f32_96_320(" in second.case(GRID)


def test_the_first_step_chooses_and_the_second_takes(tape: Tape) -> None:
    first, second = products_of(tape)[3:5]
    assert first.case(GRID).startswith("choose_experts(false, true);")
    assert second.case(GRID).startswith("take_experts();")
    other = changed(tape, Route, normalised=False)
    assert products_of(other)[3].case(GRID).startswith("choose_experts(false, false);")


def test_biases_of_experts(tmp_path: Path) -> None:
    """Those of the outputs count by the experts' shares, which the first step leaves."""
    file = GgufFile.open(str(gpt_oss.CASES["yarn"](tmp_path / "tiny.gguf")))
    tape = make_program(file, Limits(96, 8, 1)).record(1, 1)
    first, second = products_of(tape)[3:5]
    assert (first.epilogue, second.epilogue) == (Epilogue.GATED_BIASED, Epilogue.ADD_SHARES)
    gates, ups, downs = (operation(tape, ExpertMatMul, number) for number in range(3))
    assert first.biases == [gates.bias, ups.bias]
    assert second.biases == [downs.bias]
    assert f"plain_input({downs.x.width}u, {downs.weight.columns}u)" in second.case(GRID)


def test_parts_of_a_row_are_each_multiplied_once() -> None:
    """expert_part() of step_experts.glslh, on what a lane asks for."""
    used, rows, n_parts, numbers = 3, 5, 4, np.array([6, 0, 3])
    row, part = np.meshgrid(np.arange(rows), np.arange(used * n_parts), indexing="ij")
    found = (numbers[part // n_parts] * rows + row) * n_parts + part % n_parts
    matrices = np.arange(7 * rows * n_parts).reshape(7, rows, n_parts)
    assert sorted(found.reshape(-1)) == sorted(matrices[numbers].reshape(-1))
    assert (found[2, 4:8] == matrices[0, 2]).all()


def test_barriers_stay(tape: Tape) -> None:
    """Two steps read the logits and the choice, so no values have tags."""
    steps = fuse(tape, StepSizes(tape).scratch(tape.work_floats))
    packed = [step.pack(1, lambda _: [0], GRID, 3) for step in steps]
    assert tag_steps(steps, packed, 0, GRID, 3) == NO_PLACES


def test_weights_of_experts_are_not_loaded_ahead(tape: Tape) -> None:
    steps = fuse(tape, StepSizes(tape).scratch(tape.work_floats))
    packed = [step.pack(1, lambda _: [64], GRID, 3) for step in steps]
    load_ahead(steps, packed, lambda _: [64], GRID)
    strides = [words[NEXT_STRIDE] for words in packed[2:6]]
    assert [stride > 0 for stride in strides] == [True, False, False, True]


BIAS = Weight("bias", F32, qwen3moe.EXPERTS, qwen3moe.FEED_FORWARD)
ELSEWHERE = Tensor(100_000, 1, EACH)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(
            lambda tape: changed(tape, Route, bias=BIAS), "scores with a bias", id="of the choice"
        ),
        pytest.param(
            lambda tape: changed(tape, ExpertMatMul, 1, bias=BIAS),
            "only gates or only inputs have a bias",
            id="a bias of inputs alone",
        ),
        pytest.param(
            lambda tape: changed(tape, ExpertMatMul, x=Tensor(0, 1, qwen3moe.WIDTH)),
            "what their router reads",
            id="another input",
        ),
        pytest.param(
            lambda tape: changed(tape, GatedUnit, y=ELSEWHERE), "residual stream", id="another gate"
        ),
        pytest.param(
            lambda tape: changed(tape, ExpertSum, residual=None),
            "residual stream",
            id="no residual",
        ),
        pytest.param(
            lambda tape: replace(
                tape, operations=[op for op in tape.operations if not isinstance(op, ExpertSum)]
            ),
            "chosen, multiplied, gated and summed up",
            id="no sum",
        ),
    ],
)
def test_experts_that_no_step_takes(
    tape: Tape, change: Callable[[Tape], Tape], message: str
) -> None:
    with pytest.raises(NoStepError, match=message):
        StepSizes(change(tape))


def test_a_norm_that_is_read_once_more(tape: Tape) -> None:
    """Its rows are nowhere: each step makes them for itself."""
    total = tape.operations.index(operation(tape, ExpertSum))
    again = replace(operation(tape, MatMul, 4), y=ELSEWHERE)
    operations = [*tape.operations[: total + 1], again, *tape.operations[total + 1 :]]
    with pytest.raises(NoStepError, match="no step does MatMul here"):
        StepSizes(replace(tape, operations=operations))


def test_shared_memory(tape: Tape) -> None:
    """Exactly what the GLSL declares, as in test_step_sizes.py."""
    sizes = StepSizes(tape)
    assert sizes.experts == (qwen3moe.EXPERTS, qwen3moe.USED)
    kernel = sizes.kernel(8, 1 << 20, ["one();"], context=96, has_integer_dot=True)
    assert kernel is not None
    needed = shared_bytes(expand_kernel(kernel))
    for room, fits in ((needed, True), (needed - 1, False)):
        found = sizes.kernel(8, room, ["one();"], context=96, has_integer_dot=True)
        assert (found is not None) == fits


def test_gates_in_a_format_of_their_own(tmp_path: Path) -> None:
    write = partial(qwen3moe.write, formats={**qwen3moe.F32, "ffn_up_exps": Type.F16})
    file = GgufFile.open(str(write(tmp_path / "tiny.gguf")))
    with pytest.raises(NoStepError, match="gates are in a format of their own"):
        StepSizes(make_program(file, Limits(96, 8, 1)).record(1, 1))
