"""runtime.cfg, and the facts about Python in it."""

from pathlib import Path

from setup.native_host import runtime_configuration
from setup.python_environment import EmbeddedPython, shared_library

PYTHON = EmbeddedPython(
    library="/opt/python/lib/libpython3.11.so.1.0",
    home="/opt/python",
    standard_library="/opt/python/lib/python3.11",
    extension_modules="/opt/python/lib/python3.11/lib-dynload",
    packages="/src/project/.venv/lib/python3.11/site-packages",
    version="3.11",
)


def test_runtime_configuration_is_relative_inside_the_project() -> None:
    text = runtime_configuration(PYTHON, Path("/src/project/addons/llm/bin"), Path("/src/project"))
    assert text.splitlines() == [
        "library = /opt/python/lib/libpython3.11.so.1.0",
        "home = /opt/python",
        "path = /opt/python/lib/python3.11",
        "path = /opt/python/lib/python3.11/lib-dynload",
        "path = ../../../.venv/lib/python3.11/site-packages",
        "path = ../../../python",
        "path = .",
        "module = llm.nodes",
    ]


def test_the_shared_library_is_found_where_it_is(tmp_path: Path) -> None:
    name = "libpython3.11.so.1.0"
    variables: dict[str, object] = {
        "INSTSONAME": name,
        "LIBDIR": str(tmp_path),
        "MULTIARCH": "x86_64-linux-gnu",
    }
    assert shared_library(variables) is None
    folder = tmp_path / "x86_64-linux-gnu"
    folder.mkdir()
    (folder / name).touch()
    assert shared_library(variables) == folder / name
    (tmp_path / name).touch()
    assert shared_library(variables) == tmp_path / name


def test_a_static_python_has_none(tmp_path: Path) -> None:
    (tmp_path / "libpython3.11.a").touch()
    variables: dict[str, object] = {"INSTSONAME": "libpython3.11.a", "LIBDIR": str(tmp_path)}
    assert shared_library(variables) is None
