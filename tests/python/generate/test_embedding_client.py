"""Embedding requests are told apart by id, and each ends once, whatever comes between."""

from dataclasses import replace

import pytest
from support.embedding_desk import SPEC, EmbeddingDesk
from support.fake_model import FakeLoader, FakeModel

from llm.errors import ModelFileError, RequestError
from llm.generate.events import Embedded, Ended, Loaded, LoadFailed

OTHER = replace(SPEC, path="other.gguf")


def test_the_same_text_many_times_gives_the_same_vector() -> None:
    """While others run between them, and the cache fills and empties."""
    desk = EmbeddingDesk()
    ids = [desk.embed(text) for text in ["same", "other", "same", "same", "x" * 90, "same"]]
    desk.run()
    told = [event.id for event in desk.events if isinstance(event, Embedded)]
    assert told == ids
    vectors = [desk.result(found).vectors[0].tolist() for found in ids]
    assert [vector == vectors[0] for vector in vectors] == [True, False, True, True, False, True]


def test_a_load_that_fails_ends_each_request() -> None:
    problem = ModelFileError("fake.gguf", "magic", "is not GGUF")
    desk = EmbeddingDesk(FakeLoader(problem, FakeModel))
    lost = [desk.embed("a"), desk.embed("b")]
    desk.run()
    assert [type(event) for event in desk.events if not isinstance(event, Ended)][-1] is LoadFailed
    for found in lost:
        assert desk.result(found).error == desk.client.load_error == str(problem)
    found = desk.embed("a")
    desk.run()
    assert isinstance(desk.result(found), Embedded), "the next request tries again"


def test_another_model_cancels_what_was_asked_of_the_first() -> None:
    desk = EmbeddingDesk(FakeLoader(FakeModel, FakeModel))
    lost = [desk.embed("a"), desk.embed("b")]
    desk.worker.step(2)
    found = desk.embed("a", spec=OTHER)
    desk.poll()
    assert [desk.result(request).reason for request in lost] == ["cancelled"] * 2, "at once"
    desk.run()
    assert isinstance(desk.result(found), Embedded)
    assert [path for path, _, _ in desk.loader.calls] == ["fake.gguf", "other.gguf"]


def test_closing_ends_each_request_once() -> None:
    desk = EmbeddingDesk(FakeLoader(FakeModel, FakeModel))
    done = desk.embed("a")
    desk.worker.run()
    running, waiting = desk.embed("x" * 60), desk.embed("b")
    desk.worker.step()
    desk.events += desk.client.close()
    desk.events += desk.client.close()
    desk.run()
    assert isinstance(desk.result(done), Embedded), "it had come, only not yet been given out"
    assert [desk.result(lost).reason for lost in (running, waiting)] == ["cancelled"] * 2
    assert desk.loader.loaded[0].is_closed
    found = desk.embed("a")
    desk.run()
    assert isinstance(desk.result(found), Embedded), "it may be used again"


def test_who_starts_is_told() -> None:
    desk = EmbeddingDesk()
    for _ in range(2):
        desk.client.load(SPEC)
        desk.run()
    assert [event.info.name for event in desk.events if isinstance(event, Loaded)] == ["fake"] * 2
    assert len(desk.loader.calls) == 1


def test_a_worker_that_has_stopped() -> None:
    desk = EmbeddingDesk()
    desk.worker.is_stopped = True
    with pytest.raises(RequestError, match="shutting down"):
        desk.embed("a")
    assert desk.client.close() == []
