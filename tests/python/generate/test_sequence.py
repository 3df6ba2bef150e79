"""Sequences of one model: what they share, what they copy, and what is left where memory ends.

The fake model keeps ids in its cells, so that each look at them shows whether they are right.
"""

import random

import pytest
from support.fake_model import FakeModel

from llm.errors import DeviceMemoryError, RequestError
from llm.generate.sequence import CachedSequence, common
from llm.gpu.operations import PAGE_CELLS
from llm.gpu.program import MAX_SEQUENCES
from llm.gpu.sampler import GREEDY

CONTEXT = 5 * PAGE_CELLS


def a_model(**options: int) -> FakeModel:
    return FakeModel(context_length=CONTEXT, chunk_size=CONTEXT, **options)


def run(sequence: CachedSequence, prompt: list[int]) -> int:
    """Brings a prompt there; how much of it was there already."""
    known = sequence.keep_common(prompt)
    sequence.forward(prompt[known:], want_logits=True)
    assert sequence.model.kv(sequence.number) == prompt  # type: ignore[attr-defined]
    return known


def ids(count: int, start: int = 0) -> list[int]:
    return [(start + number) % 100 for number in range(count)]


@pytest.mark.parametrize("length", [1, 5, PAGE_CELLS - 1, PAGE_CELLS, PAGE_CELLS + 1, 200])
def test_a_beginning_in_common_is_computed_once(length: int) -> None:
    model = a_model()
    first, second = model.sequences.open(), model.sequences.open()
    system = ids(length)
    run(first, [*system, 101, 102])
    assert run(second, [*system, 103]) == length
    assert model.kv(first.number) == [*system, 101, 102]
    whole = length // PAGE_CELLS
    pages = [-(-(length + more) // PAGE_CELLS) for more in (2, 1)]
    assert model.sequences.pool.used == sum(pages) - whole  # pages full of it are there once


def test_going_on_in_a_shared_page_copies_it() -> None:
    """Cut back to the middle of a page that another sequence has, too."""
    model = a_model()
    first, second = model.sequences.open(), model.sequences.open()
    prompt = ids(2 * PAGE_CELLS + 3)
    run(first, prompt)
    run(second, prompt)
    changed = [*prompt[: PAGE_CELLS + 7], 120, 121]
    assert run(second, changed) == PAGE_CELLS + 7
    assert model.kv(first.number) == prompt
    run(first, [*prompt[:5], 111])
    assert model.kv(second.number) == changed


def test_the_longer_beginning_counts() -> None:
    """One's own, unless another knows more."""
    model = a_model()
    first, second, third = (model.sequences.open() for _ in range(3))
    run(first, [*ids(40), 101])
    run(second, [*ids(90), 102])
    assert run(third, [*ids(80), 103]) == 80
    assert run(third, [*ids(80), 103, 104, 105]) == 81


def test_a_sequence_that_ends_leaves_what_others_have() -> None:
    model = a_model()
    first, second = model.sequences.open(), model.sequences.open()
    prompt = ids(150)
    run(first, prompt)
    run(second, [*prompt, 101])
    first.close()
    assert model.kv(second.number) == [*prompt, 101]
    third = model.sequences.open()
    assert third.number == first.number
    assert run(third, [*prompt, 102]) == 150
    for sequence in (second, third):
        sequence.close()
    assert model.sequences.pool.used == 0


def test_decoding_takes_pages_as_it_goes() -> None:
    model = a_model(ahead=16)
    sequence = model.sequences.open()
    prompt = ids(PAGE_CELLS - 2)
    run(sequence, prompt)
    assert model.sequences.pool.used == 1
    made = sequence.decode(7, 16, GREEDY, ())
    assert model.sequences.pool.used == 2
    assert sequence.ids == [*prompt, 7, *made[:-1]]
    assert model.kv(sequence.number) == sequence.ids


def test_where_memory_ends_idle_sequences_are_forgotten_the_oldest_first() -> None:
    model = a_model()
    model.most_pages = model.pages
    sequences = [model.sequences.open() for _ in range(3)]
    for number, sequence in enumerate(sequences):
        run(sequence, ids(PAGE_CELLS - 5, start=10 * number))
    run(sequences[0], [*sequences[0].ids, 101])  # no longer the oldest
    fourth = model.sequences.open()
    fourth.is_busy = True
    run(fourth, ids(2 * PAGE_CELLS, start=50))  # and no page is left
    run(fourth, [*fourth.ids, 102])
    assert [len(sequence) for sequence in sequences] == [60, 0, 59]
    sequences[2].is_busy = True
    run(fourth, [*fourth.ids, *ids(PAGE_CELLS)])
    assert [len(sequence) for sequence in sequences] == [0, 0, 59]
    with pytest.raises(DeviceMemoryError, match="do not fit"):
        run(fourth, [*fourth.ids, *ids(PAGE_CELLS)])


def test_pages_that_came_before_memory_ended_are_placed() -> None:
    model = a_model()
    model.most_pages = model.pages
    first, second = model.sequences.open(), model.sequences.open()
    first.is_busy = True
    run(first, ids(2 * PAGE_CELLS))
    run(second, ids(PAGE_CELLS - 1, start=50))
    with pytest.raises(DeviceMemoryError):
        second.reserve(4 * PAGE_CELLS)  # nor does it forget itself
    prompt = [*second.ids, *ids(PAGE_CELLS)]
    assert run(second, prompt) == PAGE_CELLS - 1


def test_as_many_as_a_model_takes() -> None:
    model = a_model()
    for _ in range(MAX_SEQUENCES):
        model.sequences.open()
    with pytest.raises(RequestError, match="64 nodes use fake already"):
        model.sequences.open()


def test_whatever_they_do_all_keep_what_they_know() -> None:
    source = random.Random(3)
    model = a_model()
    sequences = [model.sequences.open() for _ in range(5)]
    beginnings = [ids(length, start) for length, start in ((30, 0), (70, 0), (200, 0), (64, 9))]
    known: dict[int, list[int]] = {}
    for turn in range(400):
        sequence = source.choice(sequences)
        if source.random() < 0.1:
            sequence.close()
            sequences.remove(sequence)
            known.pop(sequence.number, None)
            sequences.append(model.sequences.open())
            continue
        prompt = [*source.choice(beginnings), *ids(source.randrange(90), start=turn), turn % 100]
        run(sequence, prompt)
        known[sequence.number] = prompt
        for number, expected in known.items():
            assert model.kv(number) == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([], [], 0),
        ([1], [], 0),
        ([1, 2, 3], [1, 2, 3], 3),
        ([1, 2, 3], [1, 2, 4], 2),
        ([1, 2], [1, 2, 4], 2),
        ([0, 2], [1, 2], 0),
    ],
)
def test_common(first: list[int], second: list[int], expected: int) -> None:
    assert common(first, second) == expected
    assert common([*first, *second], [*first, *second]) == len(first) + len(second)
