"""Programs that the machine's package manager installs: asked of apt as root, else of the user."""

import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from setup import vulkan
from setup.debian_archive import machine_is_debian_family
from setup.processes import describe_apt, run_logged
from setup.report import SetupError


@dataclass(frozen=True)
class Need:
    """Something outside the project folder: how to see it, and which Debian packages hold it."""

    what: str
    packages: tuple[str, ...]
    is_there: Callable[[], bool]


def program(name: str, *packages: str) -> Need:
    """A program on PATH."""
    return Need(name, packages, lambda: shutil.which(name) is not None)


XVFB = program("Xvfb", "xvfb")
COMPILER = program("cc", "gcc", "libc6-dev")
WINDOWS_COMPILER = program("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64-win32")
SOFTWARE_DRIVER = Need("a Vulkan driver", ("mesa-vulkan-drivers",), vulkan.machine_has_driver)
SHADER_TOOLS = (
    program("glslangValidator", "glslang-tools"),
    program("spirv-val", "spirv-tools"),
    program("spirv-cross", "spirv-cross"),
)


def ensure(needs: Iterable[Need]) -> None:
    """Installs what is missing. Raises SetupError with what the user has to install instead."""
    missing = [need for need in needs if not need.is_there()]
    if not missing:
        return
    names = ", ".join(need.what for need in missing)
    packages = [package for need in missing for package in need.packages]
    if not machine_is_debian_family():
        raise SetupError(f"{names} not found: install it with this system's package manager")
    if os.geteuid() != 0:
        raise SetupError(f"{names} not found: run  sudo apt-get install {' '.join(packages)}")
    _install(packages)
    still = ", ".join(need.what for need in missing if not need.is_there())
    if still:
        raise SetupError(f"{still} not found, though {' '.join(packages)} is installed")


def _install(packages: list[str]) -> None:
    title = f"installing {' '.join(packages)}"
    options = ["-q", "-y", "-o", "APT::Status-Fd=1", "-o", "DPkg::Lock::Timeout=120"]
    command = ["apt-get", *options, "install", "--no-install-recommends", *packages]
    environment = {"DEBIAN_FRONTEND": "noninteractive"}

    def run(title: str, command: list[str]) -> None:
        run_logged(title, command, environment=environment, describe=describe_apt, to_its_end=True)

    try:
        run(title, command)
    except SetupError:
        # a fresh machine has no package lists yet, an old one has stale ones,
        # and an earlier installation may have been cut short
        run("finishing earlier installations", ["dpkg", "--configure", "-a"])
        run("reading the package lists", ["apt-get", "-q", "update"])
        run(title, command)
