"""The persistent executor gives what the reference gives, with as many groups as are sure to run.

A software driver promises one group at a time, which makes every barrier trivial; that groups on
several multiprocessors see each other's work is for a GPU to show, with the same tests.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from support.default_model import DEFAULT_MODEL
from support.loading import finish
from support.rounded_inputs import round_inputs
from support.tiny_gemma import VOCABULARY, WIDTH, write_tiny_gemma
from support.tiny_models import SHARP, STEP_MODELS, TOLERANCE, error

from llm.errors import DeviceError, DeviceMemoryError, NumericError
from llm.generate.model import Model, load_model
from llm.gpu.adjustments import Adjustments
from llm.gpu.device.rendering_device import RenderingDevice, open_device
from llm.gpu.executors import STEPS_PATIENCE
from llm.gpu.fused import persistent
from llm.gpu.fused.persistent import PersistentExecutor
from llm.gpu.fused.step_list import StepList
from llm.gpu.sampler import GREEDY, Sampler
from llm.gpu.steps import step_sizes
from llm.gpu.steps.errors import NoStepError
from llm.gpu.steps.fusion import StepScratch
from llm.gpu.steps.packing import Words
from llm.gpu.steps.steps import Step
from llm.gpu.tape import Tape

PROMPT = np.random.default_rng(3).integers(0, VOCABULARY, 61).tolist()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_gemma(tmp_path_factory.mktemp("models") / "tiny.gguf")


@pytest.fixture(autouse=True)
def one_group_on_software(monkeypatch: pytest.MonkeyPatch) -> None:
    device = open_device()
    assert device is not None
    if device.is_cpu:
        monkeypatch.setattr(persistent, "resident_groups", lambda _meet: 1)


@pytest.fixture
def model(path: Path) -> Iterator[Model]:
    model = finish(load_model(str(path), executor="persistent", context_length=96))
    assert model.executor == "persistent"
    yield model
    model.close()


@pytest.fixture(scope="module")
def reference(path: Path) -> Model:
    return finish(load_model(str(path), executor="reference", context_length=96))


def start(model: Model, count: int) -> None:
    """Runs may be as short as 32, where a machine is slow."""
    for first in range(0, count, 32):
        ids = PROMPT[first : min(first + 32, count)]
        model.forward(ids, first, [len(ids) - 1])


def greedy(model: Model, token: int, position: int, count: int) -> list[int]:
    return model.decode(token, position, count, GREEDY, ())


def test_tokens_one_by_one(model: Model, reference: Model) -> None:
    """From the first position on, beyond the window, with a prompt's cells before them."""
    for executor in (model, reference):
        start(executor, 3)
    for position in range(3, 61):
        for executor in (model, reference):
            executor.forward([PROMPT[position]], position, [0])
        assert error(model.logits(), reference.logits()) < TOLERANCE, position


def test_the_very_first_token(model: Model, reference: Model) -> None:
    for executor in (model, reference):
        executor.forward(PROMPT[:1], 0, [0])
    assert error(model.logits(), reference.logits()) < TOLERANCE


@pytest.mark.parametrize("write", STEP_MODELS.values(), ids=STEP_MODELS)
def test_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], Path]
) -> None:
    round_inputs(monkeypatch)
    path = write(tmp_path / "tiny.gguf")
    models = [
        finish(load_model(str(path), executor=name, context_length=96))
        for name in ("persistent", "reference")
    ]
    for executor in models:
        start(executor, 40)
    found, expected = (greedy(executor, PROMPT[40], 40, 17) for executor in models)
    assert found == expected
    for executor in models:
        executor.forward([PROMPT[57]], 57, [0])
    assert error(models[0].logits(), models[1].logits()) < SHARP
    models[0].close()


@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 33])
def test_greedy(model: Model, reference: Model, count: int) -> None:
    for executor in (model, reference):
        start(executor, 60)
    assert greedy(model, PROMPT[60], 60, count) == greedy(reference, PROMPT[60], 60, count)


def test_greedy_leaves_the_cells_of_its_tokens(model: Model, reference: Model) -> None:
    start(model, 40)
    found = greedy(model, PROMPT[40], 40, 9)
    reference.forward([*PROMPT[:41], *found], 0, [49])
    model.forward(found[-1:], 49, [0])
    assert error(model.logits(), reference.logits()) < TOLERANCE


# None of this seed's draws lies at the edge of two tokens, where roundings decide.
@pytest.mark.parametrize("sampler", [GREEDY, Sampler(1.5, 40, seed=11)], ids=["greedy", "drawn"])
@pytest.mark.parametrize("stop", [0, 7, 8, 20])
def test_a_stop_ends_it(model: Model, reference: Model, sampler: Sampler, stop: int) -> None:
    for executor in (model, reference):
        start(executor, 40)
    expected = reference.decode(PROMPT[40], 40, 21, sampler, ())
    stops = {expected[stop]}
    expected = expected[: expected.index(expected[stop]) + 1]
    assert model.decode(PROMPT[40], 40, 21, sampler, stops) == expected
    assert reference.decode(PROMPT[40], 40, 21, sampler, stops) == expected


@pytest.mark.parametrize("k", [1, 2, 40, 0])
@pytest.mark.parametrize(
    "adjustments",
    [
        None,
        Adjustments({token: 2 for token in range(0, 300, 3)}, 1.7, 0.4, 0.3, {5: 3.0, 9: -8.0}),
        Adjustments({3: 1}, 2.0, mask=np.arange(1, 11, dtype=np.uint32)),
    ],
    ids=["plain", "penalised", "masked"],
)
def test_candidates(
    model: Model, reference: Model, k: int, adjustments: Adjustments | None
) -> None:
    for executor in (model, reference):
        start(executor, 60)
        executor.forward([PROMPT[60]], 60, [0])
    found = model.candidates(k, adjustments)
    expected = reference.candidates(k, adjustments)
    assert len(found.ids) == (k or VOCABULARY)
    assert error(found.logits, expected.logits) < TOLERANCE
    assert found.ids[0] == expected.ids[0]


def test_groups_that_do_not_meet_fall_back(
    model: Model, reference: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(persistent, "SPINS", 0)
    for executor in (model, reference):
        start(executor, 60)
        executor.forward([PROMPT[60]], 60, [0])
    assert model.candidates(1).ids.tolist() == reference.candidates(1).ids.tolist()
    assert model.executor == "dispatch"
    assert greedy(model, PROMPT[60], 60, 5) == greedy(reference, PROMPT[60], 60, 5)


def test_falling_back_in_mid_answer_loses_no_token(
    model: Model, reference: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    for executor in (model, reference):
        start(executor, 30)
    found = greedy(model, PROMPT[30], 30, 16)
    monkeypatch.setattr(persistent, "SPINS", 0)
    executor = model._executor
    assert isinstance(executor, persistent.PersistentExecutor)
    executor._tables.clear()  # they hold the number of looks
    found += greedy(model, found[-1], 46, 17)
    assert found == greedy(reference, PROMPT[30], 30, 33)
    assert model.executor == "dispatch"


def test_a_kernel_that_does_not_compile_leaves_dispatches(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_others = RenderingDevice.pipeline

    def pipeline(device: RenderingDevice, name: str, glsl: str) -> object:
        if name.startswith("steps"):
            raise DeviceError("this driver cannot")
        return compile_others(device, name, glsl)

    monkeypatch.setattr(RenderingDevice, "pipeline", pipeline)
    with pytest.raises(DeviceError, match="use executor 'auto' or 'dispatch'"):
        finish(load_model(str(path), executor="persistent"))


def test_gemma3_270m_says_what_it_should() -> None:
    golden = json.loads((Path(__file__).parents[1] / "golden" / "greedy.json").read_text())
    model = finish(
        load_model(str(DEFAULT_MODEL), executor="persistent", context_length=64, chunk_rows=8)
    )
    ids = model.tokenizer.encode(golden["prompt"])
    model.forward(ids, 0, [len(ids) - 1])
    found = model.candidates(1).ids.tolist()
    found += greedy(model, found[0], len(ids), len(golden["ids"]) - 1)
    model.close()
    assert found == golden["ids"]


def test_an_architecture_without_steps_leaves_dispatches(
    path: Path, reference: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fuse(_tape: Tape, _scratch: StepScratch, _in_ram: set[str]) -> list[Step]:
        raise NoStepError("of this test")

    monkeypatch.setattr(step_sizes, "fuse", fuse)
    device = open_device()
    assert device is not None
    found, device.is_cpu = device.is_cpu, False  # "auto" asks for persistent only on GPUs
    model = finish(load_model(str(path), executor="auto", context_length=96))
    device.is_cpu = found
    assert model.executor == "dispatch"
    for executor in (model, reference):
        start(executor, 60)
    assert greedy(model, PROMPT[60], 60, 5) == greedy(reference, PROMPT[60], 60, 5)
    model.close()


def test_steps_that_compile_slowly_come_later(
    path: Path, reference: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then a dispatch does an operation; the same tokens come."""
    device = open_device()
    assert device is not None
    is_over = False
    asked: list[float] = []

    def is_compiled(_device: RenderingDevice, name: str, patience: float = 0.0) -> bool:
        assert name.startswith("steps")
        asked.append(patience)
        return is_over

    monkeypatch.setattr(RenderingDevice, "is_compiled", is_compiled)
    found, device.is_cpu = device.is_cpu, False
    model = finish(load_model(str(path), executor="auto", context_length=96))
    device.is_cpu = found
    assert asked == [STEPS_PATIENCE]
    for executor in (model, reference):
        start(executor, 30)
    expected = greedy(reference, PROMPT[30], 30, 25)
    tokens = greedy(model, PROMPT[30], 30, 3)
    assert model.executor == "dispatch"
    is_over = True
    tokens += greedy(model, tokens[-1], 33, 6)
    assert model.executor == "persistent"
    asked.clear()
    model.forward(tokens[-1:], 39, [0])
    tokens += model.candidates(1).ids.tolist()
    tokens += greedy(model, tokens[-1], 40, 15)
    assert tokens == expected
    assert asked == []
    model.close()


@pytest.mark.parametrize("count", range(9))
def test_no_memory_for_late_steps(
    path: Path, reference: Model, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Whichever list of them it is that has no room, answers go on."""
    device = open_device()
    assert device is not None
    is_over = False
    monkeypatch.setattr(RenderingDevice, "is_compiled", lambda *_: is_over)
    found, device.is_cpu = device.is_cpu, False
    model = finish(load_model(str(path), executor="auto", context_length=96))
    device.is_cpu = found
    for executor in (model, reference):
        start(executor, 30)
    expected = greedy(reference, PROMPT[30], 30, 12)
    upload, freed = PersistentExecutor._upload_steps, []
    buffers: list[object] = []

    def refuse(self: PersistentExecutor, words: Words) -> StepList:
        if len(buffers) == count:
            raise DeviceMemoryError("the steps: no room, in this test")
        made = upload(self, words)
        buffers.append(made.buffer)
        return made

    def free(self: RenderingDevice, *rids: object) -> None:
        freed.extend(rid for rid in rids if any(rid is buffer for buffer in buffers))
        given_back(self, *rids)

    given_back = RenderingDevice.free
    monkeypatch.setattr(PersistentExecutor, "_upload_steps", refuse)
    monkeypatch.setattr(RenderingDevice, "free", free)
    is_over = True
    assert greedy(model, PROMPT[30], 30, 12) == expected
    assert model.executor == "dispatch"
    assert len(freed) == len(buffers) == count
    model.close()


def test_who_is_patient_waits_for_the_steps(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RenderingDevice, "is_compiled", lambda *_: False)
    device = open_device()
    assert device is not None
    found, device.is_cpu = device.is_cpu, False
    model = finish(load_model(str(path), executor="auto", context_length=96, is_patient=True))
    device.is_cpu = found
    assert model.executor == "persistent"
    model.close()


def test_compiled_or_not() -> None:
    """Of a kernel whose compiling is over, whichever way."""
    device = open_device()
    assert device is not None
    device.compile("no kernel", "no GLSL")
    assert device.is_compiled("no kernel", 60.0)
    with pytest.raises(DeviceError, match="no kernel"):
        device.pipeline("no kernel", "no GLSL")


def test_nan_weights(tmp_path: Path) -> None:
    norm = np.ones(WIDTH, np.float32)
    norm[17] = np.nan
    path = write_tiny_gemma(tmp_path / "nan.gguf", replaced={"blk.3.ffn_norm.weight": norm})
    model = finish(load_model(str(path), executor="persistent"))
    start(model, 4)
    for k in (1, 40, 0):
        model.forward(PROMPT[4:5], 4, [0])
        with pytest.raises(NumericError, match="NaN or infinite"):
            model.candidates(k)
    with pytest.raises(NumericError, match="NaN or infinite"):
        greedy(model, PROMPT[4], 4, 5)
    model.close()
