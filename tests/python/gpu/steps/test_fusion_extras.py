"""What only some architectures have goes into the steps: biases, scales and caps."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.architectures import gemma2 as tiny_gemma2
from support.architectures import glm4, granite, llama, qwen2

from llm.files.gguf import GgufFile
from llm.gpu.columns.fusion import fuse_columns
from llm.gpu.operations import Tensor
from llm.gpu.steps.attention import Attention
from llm.gpu.steps.errors import NoStepError
from llm.gpu.steps.fusion import StepScratch, fuse
from llm.gpu.steps.packing import Grid
from llm.gpu.steps.steps import Epilogue, Product, Step
from llm.models.registry import Limits, make_program

GRID = Grid(groups=3, subgroup_size=8)


def steps_of(write: Callable[[Path], Path], path: Path) -> list[Step]:
    file = GgufFile.open(str(write(path / "tiny.gguf")))
    tape = make_program(file, Limits(96, 8, 1)).record(1, 1)
    room = Tensor(tape.work_floats, 1, 1)
    return fuse(tape, StepScratch(room, room, room, 1))


def products_of(steps: list[Step]) -> list[Product]:
    return [step for step in steps if isinstance(step, Product)]


def test_biases_of_queries_keys_and_values(tmp_path: Path) -> None:
    products = products_of(steps_of(qwen2.CASES["biases"], tmp_path))
    biased = [step for step in products if step.biases]
    assert [step.epilogue for step in biased] == [Epilogue.BIASED] * 3
    for layer, step in enumerate(biased):
        assert [bias.name for bias in step.biases] == [
            f"blk.{layer}.attn_{kind}.bias" for kind in "qkv"
        ]
        assert [weight.name for weight in step.weights] == [
            f"blk.{layer}.attn_{kind}.weight" for kind in "qkv"
        ]


def test_biases_of_all_products(tmp_path: Path) -> None:
    products = products_of(steps_of(llama.CASES["biases of all products"], tmp_path))
    kinds = [Epilogue.BIASED, Epilogue.ADD_BIASED, Epilogue.GATED_BIASED, Epilogue.ADD_BIASED]
    assert [step.epilogue for step in products[:4]] == kinds
    for step in products[:4]:
        assert [bias.name for bias in step.biases] == [
            weight.name.replace("weight", "bias") for weight in step.weights
        ]


def test_a_bias_beside_a_norm_that_is_added_has_no_step(tmp_path: Path) -> None:
    with pytest.raises(NoStepError, match="a norm that is added"):
        steps_of(glm4.CASES["biases"], tmp_path)


def test_caps(tmp_path: Path) -> None:
    steps = steps_of(tiny_gemma2.CASES["windows and caps"], tmp_path)
    assert {step.soft_cap for step in steps if isinstance(step, Attention)} == {0.75}
    head = products_of(steps)[-1]
    assert (head.epilogue, head.logit_cap, head.logit_scale) == (Epilogue.CAPPED, 2.0, 1.0)
    assert "scale, 160u" in head.case(GRID)
    assert head.case(GRID).endswith("leave_best(best);")


def test_a_scale_of_logits(tmp_path: Path) -> None:
    head = products_of(steps_of(granite.CASES["scales"], tmp_path))[-1]
    assert (head.epilogue, head.logit_cap, head.logit_scale) == (Epilogue.BEST, 0.0, 4.0)
    assert "scale * 4.0, 160u" in head.case(GRID)


def test_magnitudes(tmp_path: Path) -> None:
    steps = steps_of(llama.CASES["longrope"], tmp_path)
    (magnitude,) = {step.magnitude for step in steps if isinstance(step, Attention)}
    assert magnitude == pytest.approx(1.2)


def test_biases_in_columns(tmp_path: Path) -> None:
    file = GgufFile.open(str(qwen2.CASES["biases"](tmp_path / "tiny.gguf")))
    layers = fuse_columns(make_program(file, Limits(96, 8, 8)).record(8, 8))
    biased = [step for step in layers.products if step.biases]
    assert len(biased) == 3
    for step in biased:
        assert [bias.name for bias in step.biases] == [
            weight.name.replace(".weight", ".bias") for weight in step.weights
        ]
