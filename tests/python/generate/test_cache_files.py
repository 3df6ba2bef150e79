"""What was computed goes into a file, and comes back into a model of the same kind alone."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.fake_model import FakeModel

from llm.errors import DeviceMemoryError, StateFileError
from llm.generate.cache_files import load_cache, save_cache
from llm.generate.saved_state import ModelIdentity, SavedState, open_state, write_state
from llm.generate.sequence import CachedSequence
from llm.gpu.operations import PAGE_CELLS

CONTEXT = 5 * PAGE_CELLS
STATE = SavedState([{"role": "user", "content": "Hi"}], "Be brief.")
PROMPT = [number % 100 for number in range(2 * PAGE_CELLS + 7)]


def a_model() -> FakeModel:
    return FakeModel(context_length=CONTEXT, chunk_size=CONTEXT)


def a_sequence(prompt: list[int], model: FakeModel | None = None) -> CachedSequence:
    sequence = (model or a_model()).sequences.open()
    run(sequence, prompt)
    return sequence


def run(sequence: CachedSequence, prompt: list[int]) -> int:
    known = sequence.keep_common(prompt)
    sequence.forward(prompt[known:], want_logits=True)
    assert cells(sequence) == prompt
    return known


def cells(sequence: CachedSequence) -> list[int]:
    found: list[int] = sequence.model.kv(sequence.number)  # type: ignore[attr-defined]
    return found


def save(sequence: CachedSequence, path: Path) -> int:
    """How many steps it takes."""
    return sum(1 for _ in save_cache(sequence, str(path), STATE))


def load(sequence: CachedSequence, path: Path, context: int = CONTEXT) -> None:
    for _ in load_cache(sequence, str(path), context):
        assert sequence.ids == [], "known before its pages are checked"


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save(a_sequence(PROMPT), tmp_path / "a.state")
    return tmp_path / "a.state"


@pytest.mark.parametrize(
    "length", [1, PAGE_CELLS - 1, PAGE_CELLS, PAGE_CELLS + 1, 3 * PAGE_CELLS + 5]
)
def test_nothing_of_what_was_saved_is_computed_again(tmp_path: Path, length: int) -> None:
    prompt = [number % 100 for number in range(length)]
    assert save(a_sequence(prompt), tmp_path / "a.state") == -(-length // PAGE_CELLS)
    model = a_model()
    a_sequence([7, 8, 9], model)  # so that its pages are others
    sequence = model.sequences.open()
    load(sequence, tmp_path / "a.state")
    assert sequence.ids == prompt
    assert not sequence.is_busy
    assert run(sequence, [*prompt, 101, 102]) == length


def test_the_conversation_stays_in_the_file(saved: Path) -> None:
    with open_state(str(saved)) as (state, _):
        assert replace(state, cache=None) == STATE


def test_where_nothing_was_computed_the_file_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.state"
    write_state(str(path), STATE)
    assert save(a_model().sequences.open(), path) == 0
    sequence = a_sequence([1, 2, 3])
    load(sequence, path)
    assert sequence.ids == [1, 2, 3], "what it knows may be of use"


def test_pages_beyond_what_is_known_are_not_saved(tmp_path: Path) -> None:
    sequence = a_sequence([1, 2, 3])
    sequence.reserve(3 * PAGE_CELLS)
    assert save(sequence, tmp_path / "a.state") == 1


def test_what_becomes_of_the_sequence_meanwhile_does_not_matter(tmp_path: Path) -> None:
    model = a_model()
    model.most_pages = model.pages
    sequence = a_sequence(PROMPT, model)
    steps = save_cache(sequence, str(tmp_path / "a.state"), STATE)
    next(steps)
    sequence.clear()
    other = model.sequences.open()
    run(other, [50] * (2 * PAGE_CELLS))  # all pages that are left
    with pytest.raises(DeviceMemoryError):
        run(other, [50] * (2 * PAGE_CELLS + 1))
    list(steps)
    run(other, [50] * (2 * PAGE_CELLS + 1))
    load(other, tmp_path / "a.state")
    assert other.ids == PROMPT
    assert run(other, [*PROMPT, 1]) == len(PROMPT)


def test_a_save_that_is_given_up_gives_its_pages_back(tmp_path: Path) -> None:
    model = a_model()
    sequence = a_sequence(PROMPT, model)
    steps = save_cache(sequence, str(tmp_path / "a.state"), STATE)
    next(steps)
    steps.close()
    assert os.listdir(tmp_path) == []
    sequence.close()
    assert model.sequences.pool.used == 0


@pytest.mark.parametrize("taken", [1, 2])
def test_a_load_that_is_given_up_knows_nothing(saved: Path, taken: int) -> None:
    model = a_model()
    sequence = a_sequence([1, 2, 3], model)
    steps = load_cache(sequence, str(saved), CONTEXT)
    for _ in range(taken):
        next(steps)
    steps.close()
    assert (sequence.ids, sequence.is_busy) == ([], False)
    assert model.sequences.pool.used == 0


def test_a_damaged_page_is_not_used(saved: Path) -> None:
    data = bytearray(saved.read_bytes())
    data[-9] ^= 1
    saved.write_bytes(data)
    model = a_model()
    sequence = model.sequences.open()
    with pytest.raises(StateFileError, match="pages: checksum is"):
        load(sequence, saved)
    assert (sequence.ids, model.sequences.pool.used) == ([], 0)
    assert run(sequence, PROMPT) == 0


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda its: replace(its, file_bytes=8), "file_bytes: is 7 of fake, and 8 of fake"),
        (lambda its: replace(its, digest="b"), "digest: is of its header of fake, and b of fake"),
        (lambda its: replace(its, page_bytes=4), "page_bytes: is 512 of fake, and 4 of fake"),
    ],
)
def test_another_model_refuses(
    saved: Path, change: Callable[[ModelIdentity], ModelIdentity], named: str
) -> None:
    sequence = a_sequence([1, 2, 3])
    sequence.model.identity = change(sequence.model.identity)
    with pytest.raises(StateFileError, match=rf"{named}.*; the conversation is there"):
        load(sequence, saved)
    assert sequence.ids == [1, 2, 3]


def test_a_file_of_another_name_is_the_same_model(saved: Path) -> None:
    sequence = a_model().sequences.open()
    sequence.model.identity = replace(sequence.model.identity, name="renamed.gguf")
    load(sequence, saved)
    assert sequence.ids == PROMPT


def test_a_context_that_is_too_short_refuses(saved: Path) -> None:
    sequence = a_model().sequences.open()
    with pytest.raises(StateFileError, match="has 135 tokens, and context_length is 134"):
        load(sequence, saved, 134)
    load(sequence, saved, 135)


def test_where_memory_ends_idle_ones_are_forgotten(saved: Path) -> None:
    model = a_model()
    model.most_pages = model.pages
    idle = a_sequence([50] * (3 * PAGE_CELLS), model)
    sequence = model.sequences.open()
    load(sequence, saved)
    assert (idle.ids, sequence.ids) == ([], PROMPT)
    sequence.clear()
    run(idle, [50] * (3 * PAGE_CELLS))
    idle.is_busy = True
    with pytest.raises(DeviceMemoryError):
        load(sequence, saved)
    assert (sequence.ids, sequence.is_busy) == ([], False)
    assert model.sequences.pool.used == 3
