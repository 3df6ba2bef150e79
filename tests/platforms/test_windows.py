"""What `scons windows` makes: 64-bit libraries that need nothing which Windows has not.

Where there is Wine, the host also runs, as in an engine that knows nothing but print_error.
"""

import configparser
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from setup import engine
from setup.paths import ADDON, ROOT, VENV

MINGW = "x86_64-w64-mingw32"
HOST, MODULE = "libllm.windows.x86_64.dll", "godot_interface.pyd"
OF_WINDOWS = {"KERNEL32.dll", "msvcrt.dll"}
# A folder that the 8-bit character sets of Windows cannot name.
FOLDER = "кино ☃"
WINE = {
    "WINEPREFIX": str(ROOT / ".cache" / "wine"),
    "WINEDEBUG": "-all",
    "LC_ALL": "C.UTF-8",
}
LIMIT_S = 120.0

needs_wine = pytest.mark.skipif(shutil.which("wine") is None, reason="there is no Wine")


@pytest.fixture(scope="module")
def built() -> Path:
    """The folder of the libraries."""
    godot = engine.ensure()
    command = [VENV / "bin" / "scons", "-Q", "-j1", f"godot={godot.program}", "windows"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return ROOT / "dist" / "windows"


def dumped(library: Path) -> str:
    """What binutils say of a library."""
    command = [f"{MINGW}-objdump", "-p", str(library)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def imports(library: Path) -> set[str]:
    return set(re.findall(r"DLL Name: (\S+)", dumped(library)))


def exports(library: Path) -> set[str]:
    names = dumped(library).partition("[Ordinal/Name Pointer] Table")[2].partition("\n\n")[0]
    return set(re.findall(r"\[ *\d+\] (?:\+base\[ *\d+\] +\w+ )?(\w+)$", names, re.MULTILINE))


def test_godot_finds_the_host(built: Path) -> None:
    description = configparser.ConfigParser()
    description.read(ADDON / "llm.gdextension", encoding="utf-8")
    assert exports(built / HOST) == {description["configuration"]["entry_symbol"].strip('"')}
    assert description["libraries"]["windows.x86_64"].strip('"') == f"bin/{HOST}"


def test_the_host_needs_windows_alone(built: Path) -> None:
    """No Python, which it loads by itself, and no library of the compiler."""
    assert imports(built / HOST) == OF_WINDOWS


def test_the_module_needs_any_python_3(built: Path) -> None:
    assert exports(built / MODULE) == {"PyInit_godot_interface"}
    assert imports(built / MODULE) == OF_WINDOWS | {"python3.dll"}


@pytest.mark.parametrize("name", [HOST, MODULE])
def test_they_are_for_64_bits(built: Path, name: str) -> None:
    assert "file format pei-x86-64" in dumped(built / name)


@needs_wine
@pytest.mark.parametrize(
    ("configuration", "reason"),
    [
        (None, f"there is no folder llm.windows.x86_64 in {{}}/{FOLDER}. A game needs it there"),
        ("library = lib/python311.dll\nhome = .\npath = .\n", "libpython could not be loaded ("),
        ("library = lib/python311.dll\n", "`library`, `home` and `path` must all be there."),
    ],
    ids=["no runtime", "no Python", "no paths"],
)
def test_the_host_says_what_is_missing(
    built: Path, tmp_path: Path, configuration: str | None, reason: str
) -> None:
    program = tmp_path / "load_host.exe"
    source = Path(__file__).with_name("load_host.c")
    subprocess.run([f"{MINGW}-gcc", "-o", program, source, "-lshell32"], check=True)
    host = tmp_path / FOLDER / HOST
    host.parent.mkdir()
    shutil.copyfile(built / HOST, host)
    if configuration is not None:
        runtime = host.parent / "llm.windows.x86_64"
        runtime.mkdir()
        (runtime / "runtime.cfg").write_text(configuration, encoding="utf-8")
    name = "\\\\?\\Z:" + str(host).replace("/", "\\")  # as Godot names libraries
    done = subprocess.run(
        ["wine", program, name],
        env={**WINE, "PATH": os.defpath},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("The llm add-on has no classes: ")
    assert reason.format(f"Z:{tmp_path}") in done.stdout
