"""Recurrent state on a device: what the reference gives, whichever slots the sequences have."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from support.architectures import lfm2, qwen3next, qwen35
from support.loading import finish
from support.random_model import VOCABULARY
from support.tiny_models import TOLERANCE, error

from llm.errors import DeviceMemoryError
from llm.generate.cache_files import load_cache, save_cache
from llm.generate.model import Model, Row, load_model
from llm.generate.saved_state import SavedState
from llm.generate.sequence import CachedSequence
from llm.gpu.device.rendering_device import open_device
from llm.gpu.sampler import GREEDY, Draw, Sampler

CONTEXT = 300
PROMPTS = [
    np.random.default_rng(seed).integers(0, VOCABULARY, length).tolist()
    for seed, length in enumerate((150, 61, 5, 90))
]
WRITERS: dict[str, Callable[..., Path]] = {
    "lfm2": lfm2.write_tiny_lfm2,
    "qwen35": qwen35.write_tiny_qwen35,
    "qwen3next": qwen3next.CASES["experts"],
}


@pytest.fixture(params=WRITERS)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    metadata = {f"{request.param}.context_length": CONTEXT}
    return WRITERS[request.param](tmp_path / "tiny.gguf", metadata=metadata)


def load(path: Path, executor: str) -> Model:
    return finish(load_model(str(path), executor=executor, context_length=CONTEXT, chunk_rows=64))


@pytest.fixture(params=["software", "hardware"])
def model(
    path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Model]:
    monkeypatch.setattr(open_device(), "is_cpu", request.param == "software")
    made = load(path, "dispatch")
    yield made
    made.close()


def prefill(sequence: CachedSequence, prompt: list[int]) -> int:
    known = done = sequence.keep_common(prompt)
    while done < len(prompt):
        assert sequence.keep_common(prompt) == done
        end = sequence.chunk_end(len(prompt), sequence.model.chunk_size)
        sequence.forward(prompt[done:end], want_logits=True)
        done = end
    return known


def expected_of(path: Path, ids: list[int]) -> np.ndarray:
    reference = load(path, "reference")
    prefill(reference.sequences.open(), ids)
    return np.array(reference.logits()[0])


def test_a_prompt_that_parts_goes_on_from_a_snapshot(model: Model, path: Path) -> None:
    sequence = model.sequences.open()
    prefill(sequence, PROMPTS[0])
    sequence.decode(3, 4, GREEDY, ())
    for parts, known in ((150, 150), (145, 142), (130, 128), (20, 0)):
        prompt = [*PROMPTS[0][:parts], *PROMPTS[1][:9]]
        assert prefill(sequence, prompt) == known
        assert error(model.logits()[0], expected_of(path, prompt)) < TOLERANCE


def test_rows_of_several_sequences(model: Model, path: Path) -> None:
    """In slots that came when there were too few, and that others had."""
    first = model.sequences.open()
    prefill(first, PROMPTS[0])
    first.close()
    sequences = [model.sequences.open() for _ in PROMPTS]
    for sequence, prompt in zip(sequences, PROMPTS, strict=True):
        prefill(sequence, prompt)
    assert model.sequences.states is not None
    assert model.sequences.states.used > 5, "more than at first"
    for token in (3, 4):
        for sequence in sequences:
            sequence.begin(1)
        model.forward_rows([Row(each.number, token, len(each)) for each in sequences[::-1]])
        found = model.logits()[::-1].copy()
        for sequence in sequences:
            sequence.end([token])
    for row, sequence in zip(found, sequences, strict=True):
        assert error(row, expected_of(path, sequence.ids)) < TOLERANCE


def test_runs_that_follow_each_other(model: Model, path: Path) -> None:
    """And what is thrown away of them."""
    sequences = [model.sequences.open() for _ in range(2)]
    for sequence, prompt in zip(sequences, PROMPTS, strict=False):
        prefill(sequence, prompt)
        sequence.begin(3, is_ahead=True)
    draws = [Draw(GREEDY, len(sequences[0]) + 1), Draw(Sampler(1.1, 9, seed=4), 62)]
    rows = [Row(each.number, 3, len(each)) for each in sequences]
    found = model.decode_rows(rows, draws, 3)
    sequences[0].end([3], unwanted=2)
    sequences[1].end([3, *found[1][:2]])
    for sequence in sequences:
        prefill(sequence, [*sequence.ids, 5, 6])
        assert error(model.logits()[0], expected_of(path, sequence.ids)) < TOLERANCE


def test_a_beginning_in_common(model: Model, path: Path) -> None:
    first, second = model.sequences.open(), model.sequences.open()
    prefill(first, PROMPTS[0])
    assert prefill(second, [*PROMPTS[0], 7, 8]) == 150
    assert error(model.logits()[0], expected_of(path, second.ids)) < TOLERANCE
    prefill(first, [*PROMPTS[0], 9])
    assert error(model.logits()[0], expected_of(path, first.ids)) < TOLERANCE


@pytest.mark.parametrize("is_saved_here", [True, False])
def test_one_goes_on_where_another_was(
    model: Model, path: Path, tmp_path: Path, is_saved_here: bool
) -> None:
    file = str(tmp_path / "a.state")
    other = load(path, "reference")
    source, target = (model, other) if is_saved_here else (other, model)
    sequence = source.sequences.open()
    prefill(sequence, PROMPTS[3])
    list(save_cache(sequence, file, SavedState([])))
    prefill(target.sequences.open(), PROMPTS[2])
    sequence = target.sequences.open()
    list(load_cache(sequence, file, CONTEXT))
    assert prefill(sequence, [*PROMPTS[3], 3]) == 90
    assert error(target.logits()[0], expected_of(path, sequence.ids)) < TOLERANCE


def test_slots_that_cannot_grow(model: Model, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there goes on without snapshots."""

    def refuse() -> None:
        raise DeviceMemoryError("no memory")

    first, second = model.sequences.open(), model.sequences.open()
    prefill(first, PROMPTS[2])
    prefill(second, PROMPTS[2][::-1])
    monkeypatch.setattr(model._executor.slots, "allocate", refuse)
    first.is_busy = second.is_busy = True
    prefill(second, PROMPTS[0])
    assert prefill(first, [*first.ids, 4]) == len(PROMPTS[2])
    assert error(model.logits()[0], expected_of(path, first.ids)) < TOLERANCE
    prefill(second, [*second.ids, 4])
    assert error(model.logits()[0], expected_of(path, second.ids)) < TOLERANCE


def test_a_slot_is_what_was_written(model: Model) -> None:
    """And its neighbours are not."""
    slots = model._executor.slots
    assert slots is not None
    slots.grow(4)
    data = np.random.default_rng(1).bytes(model.identity.state_bytes)
    before = [slots.read(slot) for slot in (0, 2)]
    slots.write(1, data)
    slots.copy(1, 3)
    assert slots.read(1) == slots.read(3) == data
    slots.grow(6)
    assert [slots.read(slot) for slot in (0, 2)] == before
    assert slots.read(3) == data
