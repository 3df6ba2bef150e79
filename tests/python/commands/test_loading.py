"""A command's model: watched while it loads, closed at the end, and not held to a frame's time."""

from collections.abc import Generator
from typing import Any

import pytest
from support.fake_model import FakeModel

from llm.commands import loading
from llm.gpu.program import FRAME_SECONDS


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> FakeModel:
    made = FakeModel()

    def load(path: str, **options: Any) -> Generator[float, None, FakeModel]:
        assert (path, options["executor"], options["context_length"]) == ("a.gguf", "auto", 77)
        assert options["quantize"] == ""
        assert options["is_patient"]  # what is measured must not change on the way
        yield 0.25
        yield 1.0
        return made

    monkeypatch.setattr(loading, "load_model", load)
    return made


def test_progress_and_end(model: FakeModel) -> None:
    reported: list[float] = []
    with loading.loaded("a.gguf", "auto", context_length=77, on_progress=reported.append) as loaded:
        assert loaded is model
        assert not model.is_closed
    assert reported == [0.25, 1.0]
    assert model.is_closed


def test_closed_after_an_error(model: FakeModel) -> None:
    with pytest.raises(KeyboardInterrupt), loading.loaded("a.gguf", "auto", context_length=77):
        raise KeyboardInterrupt
    assert model.is_closed


def test_no_frame_waits_for_a_command(model: FakeModel) -> None:
    with loading.loaded("a.gguf", "auto", context_length=77) as loaded:
        assert loaded.submit_seconds > 2 * FRAME_SECONDS
