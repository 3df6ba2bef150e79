"""What a long session in the editor leaves behind."""

from pathlib import Path

from support.editor_project import EditorProject

HERE = Path(__file__).parent
TIMES = 20


def test_nothing_is_left_behind(project: EditorProject) -> None:
    """Enabling, disabling, a chat, reloads of a scene, and play and stop, many times over."""
    driven = project.drive(HERE / "drive_lifecycle.gd", headless=True)
    states = driven.report["states"]
    assert len(states) == TIMES
    assert driven.report["played"] == TIMES
    assert driven.report["answers"] == 2 * TIMES, "a question and its answer each time"
    first, last = states[1], states[-1]
    assert last["nodes"] == []
    assert last["threads"] <= first["threads"]
    assert last["orphans"] <= first["orphans"]
    assert last["objects"] - first["objects"] < 2 * TIMES, "not two a time"
    # What is leaked of a server's is told at the end, as an error.
    assert driven.complaints == []
