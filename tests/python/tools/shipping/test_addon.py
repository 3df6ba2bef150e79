"""What goes into the add-on's file, and its version."""

import re

from check.files import tracked
from setup.paths import ADDON, ROOT
from shipping import addon

SETTINGS = (".toml", ".cfg", ".godot", ".py", ".gd", ".gdextension")


def test_the_version_has_one_place() -> None:
    version = addon.version()
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    named = re.compile(rf"(?i)version\s*[=:]\s*[\"']?{re.escape(version)}")
    places = [name for name in tracked(*SETTINGS) if named.search((ROOT / name).read_text("utf-8"))]
    assert places == ["addons/llm/plugin.cfg"]


def test_sources_are_what_git_knows_of_the_addon() -> None:
    packed = {str(path.relative_to(ROOT)) for path in addon.sources()}
    known = {name for name in tracked() if name.startswith(f"{ADDON.relative_to(ROOT)}/")}
    native = {name for name in known if name.startswith("addons/llm/native/")}
    assert packed == (known - native) | {"LICENSE", "CHANGELOG.md"}
