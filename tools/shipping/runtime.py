"""The folder beside the native host with all that Python needs, from which games run too.

runtime.cfg      where the host finds the rest
lib/             libpython, and libraries that not every system has
stdlib.zip       the standard library, compiled and trimmed
lib-dynload/     its compiled modules
packages/        numpy and the others, compiled and trimmed
llm.zip          python/ and shaders/ of this project
godot_interface.abi3.so, extension_api.marshal    the engine's interface
licences/        of all of it
"""

import shutil
import sysconfig
import tempfile
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from setup.native_host import STARTS_WITH
from setup.paths import ADDON_BIN, ROOT
from setup.python_environment import shared_library
from setup.report import SetupError
from shipping import bytecode, contents, libraries, licences

INTERFACE = ("godot_interface.abi3.so", "extension_api.marshal")
_LIBRARIES = "lib"
_STANDARD_LIBRARY = "stdlib.zip"
_EXTENSION_MODULES = "lib-dynload"
_PACKAGES = "packages"
_OWN_CODE = "llm.zip"
_BUILDING = "godot/building/"  # of python/, what only the build needs


@dataclass(frozen=True)
class Python:
    """The Python that is put into a runtime: the one that runs this, with its packages."""

    library: Path
    standard_library: Path
    extension_modules: Path
    packages: Path

    @staticmethod
    def here() -> "Python":
        library = shared_library(sysconfig.get_config_vars())
        if library is None:
            raise SetupError(
                "this Python has no shared library; run ./llm setup, then scons of .venv"
            )
        return Python(
            library.resolve(),
            Path(sysconfig.get_path("stdlib")),
            Path(str(sysconfig.get_config_var("DESTSHARED"))),
            Path(sysconfig.get_path("purelib")),
        )


def lay_out(folder: Path) -> None:
    """Makes the runtime in `folder`, which is replaced as a whole."""
    python = Python.here()
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    bundled = _place_libraries(python, partial)
    _place_standard_library(python.standard_library, partial / _STANDARD_LIBRARY)
    _place_packages(python.packages, partial / _PACKAGES)
    _place_own_code(partial / _OWN_CODE)
    for name in INTERFACE:
        shutil.copyfile(ADDON_BIN / name, partial / name)
    licences.collect(
        partial / "licences", python.standard_library, contents.PACKAGES.values(), bundled
    )
    (partial / ".gdignore").touch()  # nothing in here is a resource
    text = configuration(python.library.name)
    (partial / "runtime.cfg").write_text(text, encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)


def configuration(library: str) -> str:
    """Text of runtime.cfg; its places are those of the folder that it lies in."""
    lines = [
        ("library", f"{_LIBRARIES}/{library}"),
        ("home", "."),
        ("path", _STANDARD_LIBRARY),
        ("path", _EXTENSION_MODULES),
        ("path", _PACKAGES),
        ("path", f"{_OWN_CODE}/python"),
        ("path", "."),
        ("module", STARTS_WITH),
    ]
    return "".join(f"{key} = {value}\n" for key, value in lines)


def _place_libraries(python: Python, target: Path) -> list[str]:
    """libpython and the compiled modules; returns the names of the libraries that come along."""
    needed = libraries.extra_needs(python.library)
    refused = [name for name in needed if not libraries.may_ship(name)]
    if refused:
        raise SetupError(
            f"{python.library} needs {', '.join(refused)}, which not every system has and which "
            "does not come along: run ./llm setup with another Python"
        )
    libraries.ship(python.library, target / _LIBRARIES / python.library.name, "$ORIGIN")
    for module in sorted(python.extension_modules.glob("*.so")):
        if any(fnmatch(module.name, pattern) for pattern in contents.TEST_MODULES):
            continue
        needs = libraries.extra_needs(module)
        if all(map(libraries.may_ship, needs)):
            place = target / _EXTENSION_MODULES / module.name
            libraries.ship(module, place, f"$ORIGIN/../{_LIBRARIES}")
            needed |= needs
    for name, path in needed.items():
        libraries.ship(path, target / _LIBRARIES / name, "$ORIGIN")
    return list(needed)


def _place_standard_library(source: Path, target: Path) -> None:
    sources = {
        name: path
        for name, path in _sources_in_use(source).items()
        if "/test/" not in name and "/tests/" not in name
    }
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        bytecode.compile_files(sources, Path(scratch), target.name)
        bytecode.archive(Path(scratch), target)


def _sources_in_use(standard_library: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in sorted(standard_library.iterdir()):
        if path.stem in contents.STANDARD_LIBRARY_LEFT_OUT or path.name.startswith("config-"):
            continue
        if path.suffix == ".py":
            found[path.name] = path
        elif path.is_dir():
            below = bytecode.sources_below(path)
            found |= {f"{path.name}/{name}": source for name, source in below.items()}
    return found


def _place_packages(source: Path, target: Path) -> None:
    """With what each distribution says of itself: some packages ask for their version there."""
    for name in set(contents.PACKAGES.values()):
        metadata = next(source.glob(f"{name}-*.dist-info/METADATA"))
        place = target / metadata.relative_to(source)
        place.parent.mkdir(parents=True)
        shutil.copyfile(metadata, place)
    for pattern in contents.PACKAGES:
        places = sorted(source.glob(pattern))
        if not places:
            raise SetupError(f"there is no {pattern} in {source}; run ./llm setup")
        for place in places:
            _place_package(source, place, target)


def _place_package(source: Path, place: Path, target: Path) -> None:
    """One folder or module of site-packages: modules compiled, libraries as they are."""
    files = [place] if place.is_file() else sorted(path for path in place.rglob("*"))
    modules: dict[str, Path] = {}
    for path in files:
        name = path.relative_to(source).as_posix()
        if any(fnmatch(name, pattern) for pattern in contents.PACKAGE_PARTS_LEFT_OUT):
            continue
        if path.suffix == ".py":
            modules[name] = path
        elif ".so" in path.suffixes:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target / name)
    bytecode.compile_files(modules, target, target.name)


def _place_own_code(target: Path) -> None:
    """The archive has the folders of the project, so that shaders lie where they do there."""
    sources = {
        f"python/{name}": path
        for name, path in bytecode.sources_below(ROOT / "python").items()
        if not name.startswith(_BUILDING)
    }
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        bytecode.compile_files(sources, Path(scratch), target.name)
        shutil.copytree(
            ROOT / "shaders", Path(scratch) / "shaders", ignore=shutil.ignore_patterns("*.md")
        )
        bytecode.archive(Path(scratch), target)
