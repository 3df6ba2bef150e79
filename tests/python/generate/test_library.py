"""A file is loaded once, for all who want it, and freed by the last one who leaves."""

import pytest
from support.fake_model import FakeLoader, FakeModel

from llm.errors import ModelFileError
from llm.generate.library import ModelLibrary
from llm.generate.request import LoadSpec

SPEC = LoadSpec("a.gguf", "reference", 64)


def finish(steps):  # type: ignore[no-untyped-def]
    while True:
        try:
            next(steps)
        except StopIteration as finished:
            return finished.value


def test_one_load_whoever_takes_its_steps() -> None:
    loader = FakeLoader(FakeModel)
    library = ModelLibrary(loader)
    first, second = library.borrow(SPEC), library.borrow(SPEC)
    assert [next(first), next(second), next(first)] == [0.25, 0.5, 0.75]
    model = finish(second)
    assert finish(first) is model
    assert finish(library.borrow(SPEC)) is model
    assert len(loader.calls) == 1
    for _ in range(2):
        library.give_back(model)
        assert not model.is_closed
    library.give_back(model)
    assert model.is_closed


@pytest.mark.parametrize(
    ("other", "is_shared"),
    [
        (LoadSpec("a.gguf", "reference", 32), True),
        (LoadSpec("a.gguf", "reference", 65), False),
        (LoadSpec("a.gguf", "auto", 64), False),
        (LoadSpec("b.gguf", "reference", 64), False),
        (LoadSpec("a.gguf", "reference", 64, "q8_0"), False),
    ],
)
def test_what_one_load_serves(other: LoadSpec, is_shared: bool) -> None:
    library = ModelLibrary(FakeLoader(FakeModel, FakeModel))
    models = [finish(library.borrow(spec)) for spec in (SPEC, other)]
    assert (models[0] is models[1]) == is_shared


def test_a_failed_load_fails_for_all_who_wait_and_the_next_tries_again() -> None:
    loader = FakeLoader(ModelFileError("f", "magic", "is odd"), FakeModel)
    library = ModelLibrary(loader)
    waiting = [library.borrow(SPEC) for _ in range(2)]
    for steps in waiting:
        next(steps)
    for steps in waiting:
        with pytest.raises(ModelFileError, match="is odd"):
            finish(steps)
    assert not finish(library.borrow(SPEC)).is_closed


def test_a_load_that_nobody_waits_for_is_given_up() -> None:
    loader = FakeLoader(FakeModel, FakeModel)
    library = ModelLibrary(loader)
    first, second = library.borrow(SPEC), library.borrow(SPEC)
    next(first)
    next(second)
    first.close()
    assert loader.abandoned == 0
    second.close()
    assert loader.abandoned == 1
    finish(library.borrow(SPEC))
    assert len(loader.calls) == 2
