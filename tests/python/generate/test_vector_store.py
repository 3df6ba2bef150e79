"""The nearest by definition, also after growing and forgetting; and what is not to be compared."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm.errors import RequestError
from llm.generate.vector_store import VectorStore

WIDTH = 7


def directions(count: int, seed: int = 1, width: int = WIDTH) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(0.0, 1.0, (count, width)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def filled(rows: np.ndarray) -> VectorStore:
    store = VectorStore()
    for number, row in enumerate(rows):
        assert store.add(f"text {number}", {"number": number}, row.tolist(), "m") == number + 1
    return store


@pytest.mark.parametrize("count", [1, 15, 16, 17, 100])
def test_the_nearest_by_definition(count: int) -> None:
    rows, query = directions(count), directions(1, seed=2)[0]
    cosines = [float(row.astype(np.float64) @ query) for row in rows]
    found = filled(rows).nearest(query, "m", 5)
    best = sorted(range(count), key=lambda row: -cosines[row])[:5]
    assert [match.entry.text for match in found] == [f"text {row}" for row in best]
    assert [match.entry.metadata["number"] for match in found] == best
    np.testing.assert_allclose([match.similarity for match in found], sorted(cosines)[:-6:-1], 1e-5)


def test_of_equals_the_oldest_is_first() -> None:
    row = directions(1)[0]
    store = filled(np.stack([row, -row, row, row]))
    assert [match.entry.id for match in store.nearest(row, "m", 3)] == [1, 3, 4]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 40)))
def test_forgetting_any_leaves_the_others(forgotten: list[int]) -> None:
    rows = directions(33)
    store = filled(rows)
    left = list(range(1, 34))
    for entry_id in forgotten:
        assert store.forget(entry_id) == (entry_id in left)
        left = [each for each in left if each != entry_id]
    assert [entry.id for entry in store] == left
    assert (store.vectors == rows[[each - 1 for each in left]]).all()
    assert store.add("new", {}, rows[0], "m") == 34, "no id is given twice"


def test_an_empty_store() -> None:
    store = VectorStore()
    assert store.nearest(directions(1)[0], "m", 3) == []
    assert not store.forget(1)
    store.add("a", {}, directions(1)[0], "m")
    store.forget(1)
    wider = directions(1, width=9)[0]
    assert store.add("b", {}, wider, "another model") == 2, "that of another model may follow"
    assert store.nearest(wider, "another model", 1)[0].entry.text == "b"


def test_vectors_that_say_nothing_of_one_another() -> None:
    store = filled(directions(3))
    row, wider = directions(1)[0], directions(1, width=9)[0]
    for vector, source in ((row, "n"), (wider, "m")):
        with pytest.raises(RequestError, match=rf"of m \(7 numbers\).* of {source} \("):
            store.nearest(vector, source, 1)
        with pytest.raises(RequestError, match=r"clear\(\) the memory"):
            store.add("a", {}, vector, source)
    assert len(store) == 3
    with pytest.raises(RequestError, match="count is 0; it must be 1 or more"):
        store.nearest(row, "m", 0)
