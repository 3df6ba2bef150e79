"""Vectors of texts by definition, in chunks, beside answers; and what cannot be embedded."""

import numpy as np
import pytest
from support.desk import Desk
from support.embedding_desk import SPEC, EmbeddingDesk
from support.fake_model import WIDTH, FakeLoader, FakeModel, FakeTokenizer, hidden_row

from llm.errors import RequestError
from llm.generate.client import new_request_id
from llm.generate.embedding_client import EmbeddingClient
from llm.generate.events import Embedded, Ended
from llm.generate.request import EmbeddingRequest

TEXT = "twenty-one characters"  # and BOS: chunks of 8, 8 and 6


def hidden_rows(text: str) -> np.ndarray:
    ids = FakeTokenizer().encode(text)
    return np.stack([hidden_row(ids[: end + 1]) for end in range(len(ids))])


def direction(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize("text", ["a", "7 + BOS", TEXT])
@pytest.mark.parametrize(
    ("pooling", "wanted"),
    [
        ("mean", lambda rows: rows.mean(axis=0)),
        ("first", lambda rows: rows[0]),
        ("last", lambda rows: rows[-1]),
    ],
)
def test_pooling_by_definition(text: str, pooling: str, wanted) -> None:
    desk = EmbeddingDesk()
    found = desk.embed(text, pooling=pooling)
    desk.run()
    [vector] = desk.result(found).vectors
    assert (vector.dtype, vector.shape) == (np.float32, (WIDTH,))
    np.testing.assert_allclose(vector, direction(wanted(hidden_rows(text))), atol=1e-6)
    assert desk.result(found).source == f"fake, {pooling}"


def test_the_file_says_how_to_pool() -> None:
    def pools_last() -> FakeModel:
        model = FakeModel()
        model.pooling = "last"
        return model

    desk = EmbeddingDesk(FakeLoader(pools_last))
    by_file, other = desk.embed(TEXT), desk.embed(TEXT, pooling="mean")
    desk.run()
    [vector] = desk.result(by_file).vectors
    np.testing.assert_allclose(vector, direction(hidden_rows(TEXT)[-1]), atol=1e-6)
    assert desk.result(by_file).source == "fake, last"
    assert desk.result(other).source == "fake, mean"


def test_a_batch_has_a_vector_of_each_text() -> None:
    desk = EmbeddingDesk()
    batch, none = desk.embed("one", TEXT, "one"), desk.embed()
    singles = [desk.embed("one"), desk.embed(TEXT)]
    desk.run()
    one, text = (desk.result(single).vectors[0].tolist() for single in singles)
    assert [vector.tolist() for vector in desk.result(batch).vectors] == [one, text, one]
    assert desk.result(none).vectors == ()


def test_a_conversation_goes_on_undisturbed() -> None:
    talk = Desk("one", "two")
    client = EmbeddingClient(lambda: talk.worker)
    talk.ask("Hello")
    talk.run()
    client.embed(EmbeddingRequest(new_request_id(), ("user: Hello and more",)), SPEC)
    talk.run()
    assert [type(event) for event in client.poll()][-1] is Embedded
    talk.ask("Go on")
    talk.run()
    assert [text for _, _, text in talk.ends()] == ["one", "two"]
    assert len(talk.loader.calls) == 1, "one model"
    stats = [event.stats for event in talk.events if isinstance(event, Ended)]
    assert stats[1].cached_tokens >= stats[0].prompt_tokens


def test_others_take_steps_between_chunks() -> None:
    desk = EmbeddingDesk(FakeLoader(lambda: FakeModel(chunk_size=4)))
    other = EmbeddingClient(lambda: desk.worker)
    long, short = desk.embed("x" * 100), new_request_id()
    other.embed(EmbeddingRequest(short, ("ab",)), SPEC)
    while not any(isinstance(event, Embedded) for event in other.poll()):
        desk.worker.step()
    desk.poll()
    assert not any(isinstance(event, Embedded) for event in desk.events)
    desk.run()
    assert isinstance(desk.result(long), Embedded)
    assert desk.loader.loaded[0].sequences.pool.used == 0, "pages are given back"


def test_closing_between_two_chunks() -> None:
    desk = EmbeddingDesk(FakeLoader(lambda: FakeModel(chunk_size=4)))
    desk.embed("a")
    desk.run()
    [model] = desk.loader.loaded
    found = desk.embed("x" * 100)
    desk.worker.step(3)
    assert 1 < len(model.forwards) < 25
    desk.events += desk.client.close()
    desk.run()
    assert (desk.result(found).reason, model.is_closed) == ("cancelled", True)
    assert not desk.worker.sessions[0].has_work


@pytest.mark.parametrize("count", [127, 128])
def test_a_text_as_long_as_the_context(count: int) -> None:
    desk = EmbeddingDesk()
    found = desk.embed("first", "x" * count)  # and BOS
    desk.run()
    if count < 128:
        assert len(desk.result(found).vectors) == 2
    else:
        error = desk.result(found).error
        assert error.startswith("text 1 has 129 tokens and context_length is 128")
        assert desk.loader.loaded[0].forwards == [], "nothing is computed in vain"


@pytest.mark.parametrize("count", [7, 8])
def test_a_text_that_an_encoder_sees_as_a_whole(count: int) -> None:
    def encodes() -> FakeModel:
        model = FakeModel()  # whose chunks are of 8 tokens
        model.is_encoder = True
        return model

    desk = EmbeddingDesk(FakeLoader(encodes))
    found = desk.embed("a", "x" * count)  # and BOS
    desk.run()
    if count < 8:
        assert len(desk.result(found).vectors) == 2
    else:
        error = desk.result(found).error
        assert error.startswith("text 1 has 9 tokens; fake sees a text as a whole, of 8 at most")
        assert desk.loader.loaded[0].forwards == [], "nothing is computed in vain"


def test_requests_that_make_no_sense() -> None:
    with pytest.raises(RequestError, match=r"^the text is empty$"):
        EmbeddingRequest(1, (" \n",))
    with pytest.raises(RequestError, match=r"^text 1 is empty$"):
        EmbeddingRequest(1, ("a", ""))
    with pytest.raises(RequestError, match="pooling is 'max'; there are auto, mean, first, last"):
        EmbeddingRequest(1, ("a",), "max")


def test_a_model_that_ranks() -> None:
    def ranks() -> FakeModel:
        model = FakeModel()
        model.pooling = "rank"
        return model

    desk = EmbeddingDesk(FakeLoader(ranks))
    refused, forced = desk.embed("a"), desk.embed("a", pooling="last")
    desk.run()
    assert "set pooling to mean, first or last" in desk.result(refused).error
    assert len(desk.result(forced).vectors) == 1


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_hidden_rows_that_are_no_numbers(value: float) -> None:
    desk = EmbeddingDesk()
    ready = desk.embed("a")
    desk.run()
    model = desk.loader.loaded[0]
    model.hidden = lambda: np.full((1, WIDTH), value, np.float32)
    bad = desk.embed("a")
    desk.run()
    del model.hidden
    again = desk.embed("a")
    desk.run()
    assert "NaN or infinite" in desk.result(bad).error
    assert desk.result(again).vectors[0].tolist() == desk.result(ready).vectors[0].tolist()


def test_a_fault_ends_its_own_request_alone() -> None:
    problems = [ZeroDivisionError("a fault of ours")]

    def fail_once(number: int) -> None:
        if number == 1 and problems:
            raise problems.pop()

    desk = EmbeddingDesk(FakeLoader(lambda: FakeModel(before_forward=fail_once)))
    lost, found = desk.embed(TEXT), desk.embed(TEXT)
    desk.run()
    end = desk.result(lost)
    assert (end.reason, end.error) == ("error", "ZeroDivisionError: a fault of ours")
    assert "Traceback" in end.details
    assert isinstance(desk.result(found), Embedded)
