"""What does not fit is refused with both figures, before anything is allocated."""

from pathlib import Path

import pytest
from support.loading import finish
from support.tiny_gemma import write_tiny_gemma

from llm.errors import DeviceMemoryError
from llm.generate.model import load_model
from llm.gpu.device import memory


def test_available_ram(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal:  100 kB\nMemAvailable:    70 kB\n")
    assert memory.available_ram(tmp_path / "meminfo") == 70 * 1024
    assert memory.available_ram(tmp_path / "missing") is None


def test_a_load_that_does_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_tiny_gemma(tmp_path / "tiny.gguf")
    monkeypatch.setattr(memory, "available_ram", lambda: 1_234_567)
    with pytest.raises(DeviceMemoryError, match=r"needs [\d,]+ bytes of RAM, but 1,234,567 are"):
        finish(load_model(str(path), executor="reference"))


def test_where_the_system_does_not_say_nothing_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_tiny_gemma(tmp_path / "tiny.gguf")
    monkeypatch.setattr(memory, "available_ram", lambda: None)
    finish(load_model(str(path), executor="reference")).close()
