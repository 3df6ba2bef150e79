"""Sequences in pages that lie in any order give what the reference gives for each alone.

Their rows run together, with other rows before and after them, and the cache grows meanwhile.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.loading import finish
from support.random_model import VOCABULARY
from support.tiny_gemma import write_tiny_gemma
from support.tiny_llama import write_tiny_llama
from support.tiny_models import error

from llm.errors import DeviceMemoryError
from llm.generate.model import Model, Row, load_model
from llm.generate.sequence import CachedSequence
from llm.gpu.adjustments import Adjustments
from llm.gpu.device.rendering_device import open_device
from llm.gpu.fused import executor as fused
from llm.gpu.fused import persistent
from llm.gpu.operations import PAGE_CELLS
from llm.gpu.sampler import GREEDY, Draw, Sampler

CONTEXT = 200
PROMPTS = [
    np.random.default_rng(seed).integers(0, VOCABULARY, length).tolist()
    for seed, length in enumerate((61, 130, 5, 64, 127))
]
TOLERANCE = 5e-2  # of the largest logit: steps round their inputs, columns to float16
TYPICAL = 1e-2
WRITERS: dict[str, Callable[..., Path]] = {"gemma3": write_tiny_gemma, "llama": write_tiny_llama}


@pytest.fixture(params=["reference", "dispatch", "steps", "persistent"])
def executor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Software drivers run steps on few groups, or on one that is resident."""
    name = str(request.param)
    device = open_device()
    assert device is not None
    if device.is_cpu and name in ("steps", "persistent"):
        monkeypatch.setattr(device, "is_cpu", False)
        monkeypatch.setattr(fused, "STEP_GROUPS", 5)
        monkeypatch.setattr(persistent, "resident_groups", lambda _meet: 1)
    return "dispatch" if name == "steps" else name


@pytest.fixture(params=WRITERS)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    metadata = {f"{request.param}.context_length": CONTEXT}
    return WRITERS[request.param](tmp_path / "tiny.gguf", metadata=metadata)


@pytest.fixture
def model(path: Path, executor: str) -> Iterator[Model]:
    steps = load_model(str(path), executor=executor, context_length=CONTEXT, chunk_rows=32)
    made = finish(steps)
    yield made
    made.close()


def expected_of(path: Path, ids: Sequence[int]) -> np.ndarray:
    reference = finish(load_model(str(path), executor="reference", context_length=CONTEXT))
    for start in range(0, len(ids), reference.chunk_size):
        chunk = ids[start : start + reference.chunk_size]
        reference.forward(chunk, start, [len(chunk) - 1])
    return np.asarray(reference.logits()[0])


def prefill(model: Model, sequence: CachedSequence, prompt: list[int]) -> int:
    known = sequence.keep_common(prompt)
    for start in range(known, len(prompt), model.chunk_size):
        sequence.forward(prompt[start : start + model.chunk_size], want_logits=True)
    return known


def check(model: Model, path: Path, sequences: Sequence[CachedSequence], token: int) -> None:
    """A token more for each, all in one run."""
    for sequence in sequences:
        sequence.reserve(1)
    model.forward_rows([Row(each.number, token, len(each)) for each in sequences])
    found = model.logits().copy()
    errors = []
    for row, sequence in enumerate(sequences):
        sequence.ids.append(token)
        errors.append(error(found[row], expected_of(path, sequence.ids)))
    assert max(errors) < TOLERANCE
    assert np.median(errors) < TYPICAL


def test_rows_of_several_sequences(model: Model, path: Path) -> None:
    """First pages in the order in which they are taken; then those that others gave back."""
    pages = model._executor.pages
    sequences = [model.sequences.open() for _ in PROMPTS]
    for sequence, prompt in zip(sequences, PROMPTS, strict=True):
        prefill(model, sequence, prompt)
    assert model._executor.pages > pages, "it has grown"
    check(model, path, sequences, 3)
    sequences[1].close()
    sequences[3].close()
    rest = [sequences[4], model.sequences.open(), sequences[0], sequences[2]]
    prefill(model, rest[1], PROMPTS[1][::-1])
    assert sorted(rest[1]._pages) != rest[1]._pages or len(rest[1]._pages) == 1
    check(model, path, rest, 5)
    check(model, path, rest[::-1], 7)


def test_a_token_of_one_of_them(model: Model, path: Path) -> None:
    """One row alone, whichever kernels run it, and tokens made ahead."""
    sequences = [model.sequences.open() for _ in PROMPTS[:3]]
    for sequence, prompt in zip(sequences, PROMPTS, strict=False):
        prefill(model, sequence, prompt)
    for sequence in sequences[::-1]:
        check(model, path, [sequence], 3)
    for sequence in sequences:
        before = list(sequence.ids)
        made = sequence.decode(9, 5, GREEDY, ())
        ids = [*before, 9, *made]
        for end in range(len(before) + 1, len(ids)):
            logits = expected_of(path, ids[:end])
            assert logits[ids[end]] > logits.max() - TOLERANCE * np.abs(logits).max()


def test_a_cache_that_cannot_grow(
    model: Model, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others go on, with the pages that there are."""

    def refuse(*_: object, **__: object) -> None:
        raise DeviceMemoryError("no memory")

    runner = model._executor
    target = runner._paged if hasattr(runner, "_paged") else runner
    monkeypatch.setattr(target, "allocate" if target is not runner else "grow", refuse)
    first, second = model.sequences.open(), model.sequences.open()
    first.is_busy = second.is_busy = True
    prefill(model, first, PROMPTS[0])
    prefill(model, second, PROMPTS[0][::-1])
    third = model.sequences.open()
    with pytest.raises(DeviceMemoryError, match="no memory"):
        prefill(model, third, PROMPTS[1])
    check(model, path, [first, second], 3)
    first.is_busy = False
    third.clear()
    prefill(model, third, PROMPTS[1][::-1])
    assert len(first) == 0
    check(model, path, [third], 5)


@pytest.mark.parametrize("length", [PAGE_CELLS - 5, PAGE_CELLS, PAGE_CELLS + 30])
def test_a_beginning_in_common(model: Model, path: Path, length: int) -> None:
    """What both write afterwards is their own."""
    first, second, third = (model.sequences.open() for _ in range(3))
    system = PROMPTS[1][:length]
    assert prefill(model, first, [*system, 5, 6]) == 0
    assert prefill(model, second, [*system, 7, 8, 9]) == length
    assert prefill(model, third, [*system[:-3], 4]) == length - 3
    check(model, path, [first, second, third], 3)
    check(model, path, [third, first], 11)


DRAWS = [GREEDY, Sampler(0.9, 40, 0.95, 0.05, 5), Sampler(1.5, 7, seed=1 << 40), GREEDY]


def test_runs_that_follow_each_other(model: Model, path: Path) -> None:
    """The tokens are those of runs one by one, which are those that the reference draws."""
    sequences = [model.sequences.open() for _ in DRAWS]
    for sequence, prompt in zip(sequences, PROMPTS, strict=False):
        prefill(model, sequence, prompt)
        sequence.reserve(10)
    draws = [Draw(each, len(row) + 1) for each, row in zip(DRAWS, sequences, strict=True)]
    rows = [Row(each.number, 3, len(each)) for each in sequences]
    found = model.decode_rows(rows, draws, 5)
    assert model.decode_rows(rows, draws, 3) == [tokens[:3] for tokens in found]
    assert model.decode_rows(rows, draws, 1) == [tokens[:1] for tokens in found]
    tokens = [3] * len(rows)
    for run in range(5):
        model.forward_rows(
            [Row(each.number, tokens[row], len(each) + run) for row, each in enumerate(sequences)]
        )
        drawn = model.draw([replace(draw, position=draw.position + run) for draw in draws])
        assert drawn == [each[run] for each in found]
        tokens = [token or 0 for token in drawn]
    for row in (0, 3):  # greedy
        ids = [*sequences[row].ids, 3, *found[row]]
        for end in range(len(sequences[row]) + 1, len(ids)):
            logits = expected_of(path, ids[:end])
            assert logits[ids[end]] > logits.max() - TOLERANCE * np.abs(logits).max()


def test_masks_of_some_rows(model: Model) -> None:
    sequences = [model.sequences.open() for _ in range(3)]
    for sequence, prompt in zip(sequences, PROMPTS, strict=False):
        prefill(model, sequence, prompt)
        sequence.reserve(1)
    width = -(-VOCABULARY // 32)
    masks = np.zeros((3, width), np.uint32)
    masks[0, 2] = 1 << 5  # token 69
    masks[1, 0] = 0b110
    rows = [Row(each.number, 3, len(each)) for each in sequences]
    model.forward_rows(rows)
    free = model.draw([Draw(GREEDY, 1)] * 3)
    model.forward_rows(rows)
    found = model.draw(
        [
            Draw(Sampler(1.0, 40, seed=1), 1, Adjustments(mask=masks[0])),
            Draw(GREEDY, 1, Adjustments({int(free[1] or 0): 1}, 2.0, mask=masks[1])),
            Draw(GREEDY, 1),
        ]
    )
    assert found[0] == 69
    assert found[1] in (1, 2)
    assert found[2] == free[2]
    model.forward_rows(rows)
    nothing = Adjustments(mask=masks[2])
    assert model.draw([Draw(GREEDY, 1), Draw(Sampler(1.0, 9), 1, nothing), Draw(GREEDY, 1)]) == [
        free[0],
        None,
        free[2],
    ]
