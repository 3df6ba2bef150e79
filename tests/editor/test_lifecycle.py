"""What a long session in the editor leaves behind."""

from pathlib import Path

from support.editor_project import EditorProject
from support.tiny_llama import write_tiny_llama

HERE = Path(__file__).parent
TIMES = 20
TEMPLATE = "{% for message in messages %}{{ message.content }}\n{% endfor %}"


def test_nothing_is_left_behind(tmp_path: Path, project: EditorProject) -> None:
    """Enabling, disabling, a chat on a device, reloads of a scene, and play and stop, many times
    over."""
    metadata = {"tokenizer.chat_template": TEMPLATE, "llama.context_length": 1024}
    model = write_tiny_llama(tmp_path / "tiny.gguf", metadata=metadata)
    driven = project.drive(HERE / "drive_lifecycle.gd", str(model))
    states = driven.report["states"]
    assert len(states) == TIMES
    assert driven.report["played"] == TIMES
    assert driven.report["answers"] == TIMES, driven.report
    assert driven.report["executor"] != "reference"
    first, last = states[1], states[-1]
    assert last["nodes"] == []
    assert last["threads"] <= first["threads"]
    assert last["orphans"] <= first["orphans"]
    assert last["objects"] - first["objects"] < 2 * TIMES, "not two a time"
    # What is leaked of a device's or a server's is told at the end, as an error.
    assert driven.complaints == []
    again = project.drive(HERE / "drive_again.gd")
    assert again.report["opened"], "in the next session too"
    assert again.complaints == []
