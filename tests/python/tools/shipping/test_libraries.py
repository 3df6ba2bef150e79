"""Which shared libraries come along with Python."""

import sys
import sysconfig
from pathlib import Path

import pytest

from setup.python_environment import shared_library
from setup.report import SetupError
from shipping import libraries


@pytest.mark.parametrize(
    ("name", "expected"),
    [("libz.so.1", True), ("libffi.so.8", True), ("libssl.so.3", False), ("libzstd.so.1", False)],
)
def test_what_may_come_along(name: str, expected: bool) -> None:
    assert libraries.may_ship(name) is expected


def test_what_every_system_has_is_no_extra_need() -> None:
    library = shared_library(sysconfig.get_config_vars())
    assert library is not None
    assert all(libraries.may_ship(name) for name in libraries.extra_needs(library))


def test_extra_needs_are_found(tmp_path: Path) -> None:
    modules = Path(str(sysconfig.get_config_var("DESTSHARED")))
    needs = [libraries.extra_needs(path) for path in sorted(modules.glob("*.so"))]
    found = {name: path for each in needs for name, path in each.items()}
    assert found, f"{sys.version} links nothing"
    assert all(path.is_absolute() for path in found.values())


def test_a_file_that_is_no_library(tmp_path: Path) -> None:
    (tmp_path / "text.so").write_text("text", encoding="utf-8")
    with pytest.raises(SetupError, match=r"patchelf .*text\.so failed: "):
        libraries.extra_needs(tmp_path / "text.so")
