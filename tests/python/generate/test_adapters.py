"""Adapters of sequences: each is loaded once; what was computed with others is of no use.

What the fake model says depends on the adapters that it was told of, and it refuses runs of rows
that have different ones.
"""

from pathlib import Path

import pytest
from support.answering import raw, run, seat_at
from support.fake_model import FakeModel

from llm.errors import ModelFileError, RequestError, StateFileError
from llm.generate.adapters import AdapterShelf
from llm.generate.answer import Wanted
from llm.generate.cache_files import load_cache, save_cache
from llm.generate.decoding import decode
from llm.generate.events import ERROR
from llm.generate.request import AdapterUse, LoadCache, SamplingParams, SaveCache
from llm.generate.sampling import Chooser
from llm.generate.saved_state import SavedState
from llm.generate.seat import Seat

A, B = AdapterUse("a.gguf"), AdapterUse("b.gguf", 0.5)
HALF = AdapterUse("a.gguf", 0.5)
PROMPT = list(range(40))


def a_model() -> FakeModel:
    return FakeModel(context_length=64, chunk_size=64)


def test_each_is_loaded_once_and_freed_by_the_last() -> None:
    model = a_model()
    first, second = model.sequences.open(), model.sequences.open()
    first.adapt([A, B])
    second.adapt([HALF])
    assert model.loaded_adapters == {1: "a.gguf", 2: "b.gguf"}
    assert model.gains == {0: ((1, 1.0), (2, 0.5)), 1: ((1, 0.5),)}
    first.adapt([B])
    assert model.loaded_adapters == {1: "a.gguf", 2: "b.gguf"}
    second.close()
    assert model.loaded_adapters == {2: "b.gguf"}
    first.adapt([])
    assert (model.loaded_adapters, model.gains[0]) == ({}, ())


def test_one_that_is_kept_is_not_loaded_again() -> None:
    """Also where it is named with another weight, or of weight 0."""
    model = a_model()
    sequence = model.sequences.open()
    for uses in ([A], [HALF], [AdapterUse("a.gguf", 0.0)], [B, A]):
        sequence.adapt(uses)
        assert model.loaded_adapters[1] == "a.gguf"


def test_the_same_named_twice_counts_twice() -> None:
    model = a_model()
    model.sequences.open().adapt([A, B, HALF])
    assert model.gains[0] == ((1, 1.5), (2, 0.5))


def test_another_weight_forgets_what_was_computed() -> None:
    sequence = a_model().sequences.open()
    sequence.forward(PROMPT, want_logits=False)
    for uses, known in (([A], 0), ([A], 40), ([HALF], 0), ([HALF, AdapterUse("b", 0.0)], 40)):
        sequence.adapt(uses)
        assert len(sequence) == known
        sequence.forward(PROMPT[known:] or [50], want_logits=False)
        sequence.keep(40)


def test_beginnings_are_shared_by_those_with_the_same() -> None:
    model = a_model()
    plain, first, same, half = (model.sequences.open() for _ in range(4))
    first.adapt([A, B])
    same.adapt([B, A])
    half.adapt([HALF, B])
    for sequence in (plain, first):
        assert sequence.keep_common(PROMPT) == 0
        sequence.forward(PROMPT, want_logits=False)
    assert same.keep_common(PROMPT) == 39
    assert half.keep_common(PROMPT) == 0


def test_one_that_does_not_load_changes_nothing() -> None:
    model = a_model()
    sequence = model.sequences.open()
    sequence.adapt([A])
    sequence.forward(PROMPT, want_logits=False)
    with pytest.raises(ModelFileError):
        sequence.adapt([B, AdapterUse("missing.gguf")])
    assert (len(sequence), sequence.adapters.gains) == (40, ((1, 1.0),))
    assert model.loaded_adapters == {1: "a.gguf"}


def test_answers_differ_and_errors_end_them() -> None:
    seat = seat_at(a_model())
    plain, adapted, again = (
        run(seat, raw("Hi", max_tokens=8, adapters=adapters))[1].text for adapters in ((), (A,), ())
    )
    assert plain == again != adapted
    _, ended = run(seat, raw("Hi", max_tokens=8, adapters=(AdapterUse("missing.gguf"),)))
    assert (ended.reason, ended.error) == (ERROR, "missing.gguf: file: is missing")
    assert run(seat, raw("Hi", max_tokens=8))[1].text == plain


def test_a_seat_that_is_left_gives_them_back() -> None:
    model = a_model()
    seat = Seat(model, 64)  # type: ignore[arg-type]
    run(seat, raw("Hi", max_tokens=2, adapters=(A,)))
    assert model.loaded_adapters
    seat.close()
    assert not model.loaded_adapters


def test_tokens_come_together_for_those_with_the_same() -> None:
    """And in the order in which they were asked for."""
    model = a_model()
    sets = ([A], [], [A], [HALF], [])
    wants, alone = [], []
    for number, uses in enumerate(sets):
        sequence = model.sequences.open()
        sequence.adapt(uses)
        sequence.forward([*PROMPT, number], want_logits=False)
        chooser = Chooser(SamplingParams(temperature=0.0), model.tokenizer, [], None, 0)  # type: ignore[arg-type]
        wants.append(Wanted(sequence, [60], chooser, 4))
        alone.append(sequence.decode(60, 1, chooser.sampler, ()))
        sequence.keep(41)
    model.together.clear()
    assert decode(wants, 5) == alone
    assert model.together == [2, 2, 1]


def test_a_saved_cache_belongs_to_its_adapters(tmp_path: Path) -> None:
    path = str(tmp_path / "a.state")
    sequence = a_model().sequences.open()
    sequence.adapt([HALF, B])
    sequence.forward(PROMPT, want_logits=False)
    for _ in save_cache(sequence, path, SavedState([])):
        pass
    seat = Seat(a_model(), 64)  # type: ignore[arg-type]
    for uses in ((A, B), (HALF,), ()):
        with pytest.raises(StateFileError, match=r"cache\.model\.adapters"):
            list(seat.load_cache(LoadCache(path, uses)))
    list(seat.load_cache(LoadCache(path, (B, HALF))))
    list(seat.save_cache(SaveCache(str(tmp_path / "b.state"), SavedState([]))))
    for _ in load_cache(sequence, str(tmp_path / "b.state"), 64):
        pass
    assert sequence.ids == PROMPT


@pytest.mark.parametrize(
    ("path", "weight", "told"),
    [
        ("", 1.0, "an adapter's path is empty"),
        ("a.gguf", float("nan"), "the weight of a.gguf is nan; it must be a number"),
    ],
)
def test_bad_ones_are_refused(path: str, weight: float, told: str) -> None:
    with pytest.raises(RequestError, match=told):
        AdapterUse(path, weight)


def test_a_shelf_asks_for_those_of_its_architecture() -> None:
    asked = []

    class Memory(FakeModel):
        def add_adapter(self, path: str, architecture: str):  # type: ignore[no-untyped-def]
            asked.append(architecture)
            return super().add_adapter(path, architecture)

    AdapterShelf(Memory(), "llama").borrow("a.gguf")
    assert asked == ["llama"]
