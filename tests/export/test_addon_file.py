"""The add-on's zip: what is in it, and what it is in a project that knows nothing of us."""

import zipfile
from pathlib import Path

from export.conftest import NewProject
from support.installed_addon import complaints, report_of

from check.rules import traces

HERE = Path(__file__).parent
TIMES = 5  # as in editor_check.gd
LARGEST = 60e6  # bytes; mostly the runtime, which games have too
TEXTS = (".cfg", ".gd", ".md", ".gdextension", ".svg", ".uid")
ECHO = """extends SceneTree
func _initialize() -> void:
	await process_frame
	var llm: LLM = LLM.new()
	llm.model_path = "echo:"
	root.add_child(llm)
	print("REPORT " + JSON.stringify({"said": await llm.ask_async("Who goes there?")}))
	quit()
"""


def test_what_is_in_it(package: Path) -> None:
    with zipfile.ZipFile(package) as file:
        names = file.namelist()
        assert file.testzip() is None
        for name in names:
            if name.endswith(TEXTS):
                assert not list(traces(name, file.read(name).decode())), name
    assert package.stat().st_size < LARGEST
    assert all(name.startswith("addons/llm/") for name in names)
    inside = {name.removeprefix("addons/llm/") for name in names}
    runtime = next(name.rpartition("/")[0] for name in inside if name.endswith("/runtime.cfg"))
    assert {"LICENSE", "CHANGELOG.md", "plugin.cfg", "icons/llm.svg"} <= inside
    assert {f"{runtime}/licences/{part}.txt" for part in ("python", "numpy", "libz")} <= inside
    assert "bin/runtime.cfg" not in inside, "that is of the machine it was made on"
    assert not [name for name in inside if name.startswith("native/") or name.endswith(".py")]


def test_it_is_enabled_and_disabled_and_leaves_nothing(blank: NewProject) -> None:
    project = blank(enabled=False)
    project.add_plugin("check", HERE / "editor_check.gd")
    done = project.run("--editor")
    assert done.returncode == 0, done.stdout
    assert not complaints(done.stdout)
    before, *states = report_of(done.stdout)["states"]
    assert before["class"]
    assert [state["enabled"] for state in states] == [True, False] * TIMES
    for state in states[1::2]:
        assert not state["nodes"]
        for what in ("settings", "editor_settings", "actions", "orphans"):
            assert state[what] == before[what], what
        assert state["threads"] <= before["threads"]
    # The first time, scripts are loaded; later, whatever stays behind stays each time.
    assert states[-1]["objects"] - states[1]["objects"] < TIMES - 1
    assert project.files() == {"project.godot"}
    after = project.folder.joinpath("project.godot").read_text(encoding="utf-8")
    assert "llm" not in after


def test_a_project_that_has_it_enabled_opens_for_the_first_time(blank: NewProject) -> None:
    project = blank()
    project.write("main.tscn", '[gd_scene format=3]\n\n[node name="Main" type="LLM"]\n')
    done = project.open_once()
    assert done.returncode == 0, done.stdout
    assert not complaints(done.stdout)


def test_its_node_answers(blank: NewProject) -> None:
    project = blank()
    project.open_once()
    project.write("main.gd", ECHO)
    done = project.run("--script", "res://main.gd")
    assert report_of(done.stdout) == {"said": "Who goes there?"}
    assert not complaints(done.stdout)


def test_it_needs_no_python_but_its_own(blank: NewProject) -> None:
    project = blank()
    project.open_once()
    done = project.run("--script", "res://addons/llm/run.gd", "--", HERE / "imports.py")
    assert done.returncode == 0, done.stdout
    assert "strangers: []" in done.stdout
