"""Recurrent state goes where the ids go: back to a snapshot, to other sequences, into files.

The fake model holds each run to the state that its tokens must have.
"""

import random
from pathlib import Path

import pytest
from support.fake_model import FakeModel

from llm.errors import DeviceMemoryError, StateFileError
from llm.generate import state_pool
from llm.generate.cache_files import load_cache, save_cache
from llm.generate.model import Row
from llm.generate.saved_state import SavedState
from llm.generate.sequence import CachedSequence
from llm.generate.sequence_state import SPACING, STRIDE, TAIL
from llm.gpu.operations import PAGE_CELLS
from llm.gpu.sampler import GREEDY, Draw

CONTEXT = 20 * PAGE_CELLS
CHUNK = 100


def a_model(**options: int) -> FakeModel:
    return FakeModel(None, context_length=CONTEXT, chunk_size=CHUNK, is_recurrent=True, **options)


def ids(count: int, start: int = 0) -> list[int]:
    return [(start + number) % 100 for number in range(count)]


def run(sequence: CachedSequence, prompt: list[int]) -> int:
    """Brings a prompt there as an answer does; how much of it need not be computed."""
    known = sequence.keep_common(prompt)
    done = known
    while done < len(prompt):
        assert sequence.keep_common(prompt) == done
        end = sequence.chunk_end(len(prompt), CHUNK)
        assert done < end <= done + CHUNK
        sequence.forward(prompt[done:end], want_logits=end == len(prompt))
        done = end
    assert sequence.model.kv(sequence.number) == prompt  # type: ignore[attr-defined]
    return known


def test_going_on_computes_nothing_again() -> None:
    sequence = a_model().sequences.open()
    prompt = ids(130)
    assert run(sequence, prompt) == 0
    made = sequence.decode(7, 1, GREEDY, ())
    prompt += [7, *made, 1, 2, 3]
    assert run(sequence, prompt) == 131


@pytest.mark.parametrize("length", [TAIL + 1, SPACING, 130, STRIDE, 2 * STRIDE + TAIL])
def test_the_same_prompt_again_runs_its_end(length: int) -> None:
    """As for another answer to it, or where what opened the answer is written otherwise."""
    sequence = a_model().sequences.open()
    prompt = ids(length)
    run(sequence, prompt)
    for _ in range(20):
        sequence.decode(7, 1, GREEDY, ())
    assert run(sequence, prompt) == length - TAIL
    assert run(sequence, [*prompt[: 3 - TAIL], 101, 102, 103]) == length - TAIL


def test_a_prompt_that_parts_earlier_goes_on_from_a_snapshot_before() -> None:
    sequence = a_model().sequences.open()
    prompt = ids(700)
    run(sequence, prompt)
    for parts, least in ((650, 600), (500, 400), (130, 100), (40, 0)):
        found = run(sequence, [*prompt[:parts], 101, 102])
        assert least <= found <= parts
        assert found == 0 or found > parts - CHUNK - TAIL


def test_a_short_prompt_has_no_snapshot() -> None:
    sequence = a_model().sequences.open()
    run(sequence, ids(TAIL))
    assert run(sequence, [*ids(TAIL - 1), 101]) == 0


def test_so_many_snapshots_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The farther back, the fewer."""
    monkeypatch.setattr(state_pool, "MOST_SNAPSHOTS", 4)
    model = a_model()
    sequence = model.sequences.open()
    prompt = ids(1100)
    run(sequence, prompt)
    assert model.sequences.states is not None
    assert model.sequences.states.used == 1 + 4
    assert run(sequence, [*prompt[:1095], 101]) == 1100 - TAIL
    assert [run(sequence, [*prompt[:parts], 101]) for parts in (1050, 750)] == [1000, 700]
    assert model.sequences.states.used <= 1 + 4


def test_a_beginning_that_another_knows_is_not_computed() -> None:
    model = a_model()
    first, second, third = (model.sequences.open() for _ in range(3))
    system = ids(310)
    run(first, [*system, *ids(60, 50)])
    assert run(second, [*system, 101, 102]) == 300
    assert run(third, [*second.ids, 103]) == 312, "all that another is at"
    run(first, ids(40, 7))
    assert run(second, [*second.ids, 104]) == 312
    for sequence in (first, second, third):
        sequence.close()
    assert model.sequences.pool.used == 0
    assert model.sequences.states is not None
    assert model.sequences.states.used == 0


def test_tokens_made_ahead_are_taken_back() -> None:
    """By as few runs as can be: from where they began to be made."""
    model = a_model(ahead=16)
    sequence = model.sequences.open()
    prompt = ids(40)
    run(sequence, prompt)
    made = sequence.decode(7, 16, GREEDY, ())
    sequence.keep(len(prompt) + 4)
    model.forwards.clear()
    sequence.forward([50], want_logits=True)
    assert model.forwards == [(40, 4), (44, 1)]
    assert sequence.ids == [*prompt, 7, *made[:3], 50]


def test_runs_beyond_the_end_of_an_answer_are_taken_back() -> None:
    """Several sequences run together; one of them wants no more after its second token."""
    model = a_model(runs_ahead=5)
    first, second = model.sequences.open(), model.sequences.open()
    run(first, ids(30))
    run(second, ids(50, 9))
    for sequence in (first, second):
        sequence.begin(5, is_ahead=True)
    rows = [Row(each.number, 3, len(each)) for each in (first, second)]
    found = model.decode_rows(rows, [Draw(GREEDY, 31), Draw(GREEDY, 51)], 5)
    first.end([3, *found[0][:1]], unwanted=3)
    second.end([3, *found[1][:4]])
    assert run(first, [*first.ids, 101]) == 30, "not the 32 that are known without their state"
    assert run(second, [*second.ids, 101]) == 55


def test_a_run_that_failed_is_not_gone_on_from() -> None:
    """What it did to the state is unknown."""
    model = a_model()
    sequence = model.sequences.open()
    run(sequence, ids(90))
    sequence.begin(1)
    assert model.slots is not None
    model.slots.take_in(sequence.number, [66], 90)  # and then logits were not finite
    sequence.forward([3, 4], want_logits=True)
    assert sequence.ids == [*ids(90), 3, 4]


@pytest.mark.parametrize("length", [1, 50, PAGE_CELLS, 200])
def test_what_was_saved_is_gone_on_from(tmp_path: Path, length: int) -> None:
    path = str(tmp_path / "a.state")
    sequence = a_model().sequences.open()
    run(sequence, ids(length))
    list(save_cache(sequence, path, SavedState([])))
    assert sequence.decode(7, 1, GREEDY, ())
    for more, known in (([101, 102], length), ([], max(0, length - TAIL))):
        other = a_model()
        run(other.sequences.open(), ids(70, 5))  # so that its slots are others
        loaded = other.sequences.open()
        list(load_cache(loaded, path, CONTEXT))
        assert run(loaded, [*ids(length), *more]) == known


def test_what_was_thrown_away_is_not_saved(tmp_path: Path) -> None:
    path = str(tmp_path / "a.state")
    sequence = a_model().sequences.open()
    run(sequence, ids(200))
    sequence.keep(150)
    list(save_cache(sequence, path, SavedState([])))
    loaded = a_model().sequences.open()
    list(load_cache(loaded, path, CONTEXT))
    assert loaded.ids == ids(150)
    assert run(loaded, [*ids(150), 101]) == 100


def test_states_of_another_kind_of_model(tmp_path: Path) -> None:
    path = str(tmp_path / "a.state")
    sequence = a_model().sequences.open()
    run(sequence, ids(50))
    list(save_cache(sequence, path, SavedState([])))
    plain = FakeModel(context_length=CONTEXT, chunk_size=CHUNK).sequences.open()
    with pytest.raises(StateFileError, match=r"state_bytes: is 16 of fake, and 0 of fake"):
        list(load_cache(plain, path, CONTEXT))


def test_where_memory_ends_snapshots_go_first() -> None:
    """They save time and nothing else; then idle sequences go, the oldest first."""
    model = a_model()
    assert model.slots is not None
    model.slots.most = 3
    first, second, third, fourth = (model.sequences.open() for _ in range(4))
    run(first, ids(150))
    assert run(first, ids(150)) == 150 - TAIL
    run(second, ids(150, 3))
    run(third, ids(150, 6))
    assert run(first, [*first.ids, 101]) == 150
    assert run(first, [*ids(140), 101]) == 0, "its snapshots are gone"
    run(fourth, ids(30, 9))
    assert [len(each) for each in (first, second, third)] == [141, 0, 150]
    for sequence in (first, third, fourth):
        sequence.is_busy = True
    with pytest.raises(DeviceMemoryError, match="slots do not fit"):
        run(second, ids(20))


def test_whatever_they_do_all_keep_what_they_know() -> None:
    source = random.Random(5)
    model = a_model(ahead=8)
    sequences = [model.sequences.open() for _ in range(4)]
    beginnings = [ids(length, start) for length, start in ((30, 0), (170, 0), (400, 0), (64, 9))]
    for turn in range(300):
        sequence = source.choice(sequences)
        action = source.random()
        if action < 0.1:
            sequence.close()
            sequences.remove(sequence)
            sequences.append(model.sequences.open())
        elif action < 0.4 and len(sequence) > 0:
            sequence.decode(turn % 100, source.randrange(1, 9), GREEDY, ())
            if source.random() < 0.5:
                sequence.keep(len(sequence) - source.randrange(len(sequence)))
        else:
            more = ids(source.randrange(90), start=turn)
            run(sequence, [*source.choice(beginnings), *more, turn % 100])
        assert model.sequences.states is not None
        assert model.sequences.states.used <= 4 * (2 + state_pool.MOST_SNAPSHOTS)
