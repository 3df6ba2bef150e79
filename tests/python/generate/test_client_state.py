"""Saving and loading a conversation: what the file has, what is told, and what changes nothing."""

from pathlib import Path

import pytest
from support.desk import Desk
from support.fake_model import FakeLoader, FakeModel, says

from llm.errors import ModelFileError, RequestError, StateFileError
from llm.generate.events import GIVEN_UP, StateLoaded, StateSaved
from llm.generate.request import LoadSpec
from llm.generate.saved_state import SavedState, open_state, write_state

SPEC = LoadSpec("fake.gguf", "reference", 400)
LONG = "What do you sell, and what does it cost? " * 3


def asked(*answers: str) -> Desk:
    """A desk where a question was answered."""
    desk = Desk(loader=FakeLoader(*[lambda: FakeModel(says(*answers), context_length=400)] * 2))
    desk.ask(LONG, SPEC)
    desk.run()
    return desk


def save(desk: Desk, path: Path, *, with_cache: bool = True) -> None:
    desk.client.save_state(str(path), "Be brief.", with_cache=with_cache)


def told(desk: Desk) -> list[StateSaved | StateLoaded]:
    return [event for event in desk.events if isinstance(event, StateSaved | StateLoaded)]


def has_cache(path: Path) -> bool:
    with open_state(str(path)) as (state, _):
        return state.cache is not None


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.state"


def test_the_conversation_is_there_at_once_and_its_cache_follows(path: Path) -> None:
    desk = asked("Swords.")
    save(desk, path)
    assert not has_cache(path)
    desk.poll()
    assert told(desk) == []
    desk.run()
    assert told(desk) == [StateSaved()]
    assert has_cache(path)

    later = asked("Bread.", "A coin.")
    later.events.clear()
    assert later.client.load_state(str(path), SPEC) == "Be brief."
    assert later.contents() == [LONG, "Swords."]
    later.ask("And?", SPEC)  # it follows before that is answered
    later.run()
    assert [type(event) for event in later.events[:1]] == [StateLoaded]
    assert told(later) == [StateLoaded()]
    assert later.contents() == [LONG, "Swords.", "And?", "A coin."]
    assert later.client.stats.cached_tokens > len(LONG)


def test_a_cache_loads_the_model(path: Path) -> None:
    first = asked("Swords.")
    save(first, path)
    first.run()
    desk = Desk(loader=FakeLoader(lambda: FakeModel(says("A coin."), context_length=400)))
    desk.client.load_state(str(path), SPEC)
    assert desk.client.is_loading
    desk.run()
    assert told(desk) == [StateLoaded()]
    desk.ask("And?", SPEC)
    desk.run()
    assert desk.client.stats.cached_tokens > len(LONG)
    assert desk.loader.calls == [("fake.gguf", "reference", 400)]


def test_a_conversation_alone_needs_no_worker(path: Path) -> None:
    desk = Desk()
    desk.client.replace_history([{"role": "user", "content": "Hi"}])
    save(desk, path)  # nothing is loaded, so nothing was computed
    desk.poll()
    assert told(desk) == [StateSaved()]
    other = Desk()
    assert other.client.load_state(str(path), SPEC) == "Be brief."
    other.poll()
    assert told(other) == [StateLoaded()]
    assert other.contents() == ["Hi"]
    assert (desk.worker.sessions, other.worker.sessions) == ([], [])


def test_without_a_place_for_it_the_cache_is_left(path: Path) -> None:
    desk = asked("Swords.")
    save(desk, path)
    desk.run()
    other = Desk()
    other.client.load_state(str(path), None)
    other.poll()
    assert told(other) == [StateLoaded()]
    assert other.contents() == [LONG, "Swords."]


def test_while_a_request_runs_nothing_is_saved(path: Path) -> None:
    desk = Desk("Hello.")
    request = desk.ask(spec=SPEC)
    with pytest.raises(RequestError, match=f"request {request} is still being answered"):
        save(desk, path)
    assert not path.exists()
    desk.run()
    assert desk.contents() == ["Hi", "Hello."]


def test_loading_cancels_what_runs(path: Path) -> None:
    write_state(str(path), SavedState([{"role": "user", "content": "Saved"}]))
    desk = Desk("Hello.")
    request = desk.ask(spec=SPEC)
    desk.worker.step(8)
    desk.client.load_state(str(path), SPEC)
    desk.run()
    assert [end[:2] for end in desk.ends()] == [(request, "cancelled")]
    assert desk.contents() == ["Saved"]


def test_one_file_at_a_time(path: Path) -> None:
    desk = asked("Swords.")
    save(desk, path)
    for again in (
        lambda: save(desk, path),
        lambda: desk.client.load_state(str(path), SPEC),
    ):
        with pytest.raises(RequestError, match="wait for state_saved"):
            again()
    desk.worker.run()
    save(desk, path, with_cache=False)  # it is over, though not yet told
    desk.client.load_state(str(path), SPEC)
    desk.poll()
    assert told(desk) == [StateSaved(), StateSaved(), StateLoaded()]


def test_files_that_cannot_be_used_change_nothing(path: Path) -> None:
    desk = asked("Swords.")
    write_state(str(path), SavedState([{"role": "narrator", "content": "x"}]))
    with pytest.raises(StateFileError, match=r"a\.state: messages: message 0 .* role 'narrator'"):
        desk.client.load_state(str(path), SPEC)
    path.write_bytes(b"LLM")
    for name in (path, path.parent / "none", path.parent):
        with pytest.raises(StateFileError):
            desk.client.load_state(str(name), SPEC)
    with pytest.raises(StateFileError, match="cannot be written"):
        save(desk, path.parent)
    desk.run()
    assert told(desk) == []
    assert desk.contents() == [LONG, "Swords."]


def test_a_reset_forgets_a_cache_that_is_on_its_way(path: Path) -> None:
    desk = asked("Swords.", "Bread.")
    save(desk, path)
    desk.run()
    desk.client.load_state(str(path), SPEC)
    desk.client.reset()
    desk.ask(LONG, SPEC)
    desk.run()
    assert told(desk) == [StateSaved(), StateLoaded(GIVEN_UP)]
    assert desk.client.stats.cached_tokens == 0
    assert desk.contents() == [LONG, "Bread."]


@pytest.mark.parametrize("steps", [0, 1])
def test_a_reset_does_not_stop_a_save(path: Path, steps: int) -> None:
    desk = asked("Swords.")
    save(desk, path)
    desk.worker.step(steps)
    desk.client.reset()
    desk.run()
    assert told(desk) == [StateSaved()]
    assert has_cache(path)


@pytest.mark.parametrize("steps", [0, 1])
def test_another_model_gives_the_cache_up(path: Path, steps: int) -> None:
    """Before it has begun, and at its first page."""
    desk = asked("Swords.")
    save(desk, path)
    desk.worker.step(steps)
    desk.client.load(LoadSpec("fake.gguf", "reference", 64))
    desk.run()
    [event] = told(desk)
    assert event == StateSaved(GIVEN_UP)
    assert not has_cache(path)
    assert [item.name for item in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("steps", [0, 1])
def test_leaving_the_tree_ends_what_is_on_its_way(path: Path, steps: int) -> None:
    desk = asked("Swords.")
    save(desk, path)
    desk.worker.step(steps)
    last = desk.client.close()
    assert last == [StateSaved(GIVEN_UP)]
    desk.run()
    assert told(desk) == []
    assert not has_cache(path)
    save(desk, path)
    desk.poll()
    assert told(desk) == [StateSaved()], "once more, without what was computed"


def test_leaving_without_a_model_tells_what_was_saved(path: Path) -> None:
    desk = Desk()
    save(desk, path)
    assert desk.client.close() == [StateSaved()]
    desk.poll()
    assert told(desk) == [], "once only"


def test_a_model_that_does_not_load(path: Path) -> None:
    first = asked("Swords.")
    save(first, path)
    first.run()
    desk = Desk(loader=FakeLoader(ModelFileError("fake.gguf", "file", "is missing")))
    desk.client.load_state(str(path), SPEC)
    desk.run()
    assert told(desk) == [StateLoaded("fake.gguf: file: is missing")]
    assert desk.contents() == [LONG, "Swords."]


def test_a_worker_that_stopped(path: Path) -> None:
    desk = asked("Swords.")
    desk.worker.is_stopped = True
    save(desk, path)
    desk.poll()
    assert told(desk) == [StateSaved("the engine is shutting down")]
    assert not has_cache(path)


def test_a_fault_of_ours_is_told_with_its_place(path: Path) -> None:
    desk = asked("Swords.")

    def fail(page: int) -> bytes:
        raise ZeroDivisionError(f"at page {page}")

    desk.loader.loaded[0].read_page = fail  # type: ignore[method-assign]
    save(desk, path)
    desk.run()
    [event] = told(desk)
    assert event.error == "ZeroDivisionError: at page 0"
    assert "Traceback" in event.details
    desk.ask("And?", SPEC)  # the session goes on
    desk.run()
    assert len(desk.ends()) == 2
