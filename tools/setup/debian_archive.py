"""Fetching packages of Debian sid with all they need, beside the machine's own apt.

apt gets a configuration of its own: an empty list of installed packages, so that the closure is
complete, and download only. Nothing of the machine's own package state is read or written, except
the archive's address, which is taken from the machine's own configuration.
"""

import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from setup.paths import CACHE
from setup.processes import describe_apt, output_of, run_logged
from setup.report import SetupError

SUITE = "sid"
_KEYRINGS = (
    "/usr/share/keyrings/debian-archive-keyring.gpg",
    "/usr/share/keyrings/debian-archive-keyring.pgp",
)
_TARGET_FORMAT = "$(SITE)\t$(ORIGIN)\t$(LABEL)"


def is_debian_family(os_release: str) -> bool:
    """Reads the text of /etc/os-release."""
    fields = dict(line.split("=", 1) for line in os_release.splitlines() if "=" in line)
    names = f"{fields.get('ID', '')} {fields.get('ID_LIKE', '')}".replace('"', "").split()
    return "debian" in names


def machine_is_debian_family() -> bool:
    """True where apt installs packages."""
    try:
        text = Path("/etc/os-release").read_text(encoding="utf-8")
    except OSError:
        return False
    return is_debian_family(text)


def archive_addresses(index_targets: str) -> list[str]:
    """Addresses that may hold sid, best first, from lines of site, origin and label.

    Origin and label come from the downloaded lists; before the first `apt-get update` both are
    empty, and then any address that ends like the main archive's will do.
    """
    rows = [line.split("\t") for line in index_targets.splitlines() if line.count("\t") == 2]
    named = [site for site, origin, label in rows if origin == label == "Debian"]
    unnamed = [
        site
        for site, origin, _ in rows
        if origin in ("", "$(ORIGIN)") and site.rstrip("/").endswith("/debian")
    ]
    return list(dict.fromkeys(named + unnamed))


@dataclass(frozen=True)
class PrivateApt:
    """apt with its state in `folder`."""

    folder: Path

    def options(self) -> list[str]:
        """Arguments that keep apt-get away from the machine's own state."""
        settings = {
            "Dir::Etc::sourcelist": self.folder / "sources.list",
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::State": self.folder / "state",
            "Dir::State::lists": self.folder / "lists",
            "Dir::State::status": self.folder / "status",
            "Dir::Cache": self.folder / "cache",
            "APT::Architecture": "amd64",
            "APT::Install-Recommends": "false",
            "APT::Sandbox::User": "",
            "APT::Status-Fd": "1",
            "Acquire::Retries": "3",
            "Debug::NoLocking": "true",
        }
        return [part for key, value in settings.items() for part in ("-o", f"{key}={value}")]

    def prepare(self, address: str) -> None:
        """Writes the configuration for the archive at `address`."""
        keyring = next((path for path in _KEYRINGS if Path(path).exists()), None)
        if keyring is None:
            raise SetupError(
                "Debian's archive keys are missing: install debian-archive-keyring, "
                "or set GODOT to a Godot 4.4 or newer"
            )
        for part in ("state", "lists/partial", "cache/archives/partial"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        (self.folder / "status").write_text("", encoding="utf-8")
        source = f"deb [arch=amd64 signed-by={keyring}] {address} {SUITE} main\n"
        (self.folder / "sources.list").write_text(source, encoding="utf-8")


def fetch(packages: Sequence[str]) -> list[Path]:
    """Downloads the packages and their whole closure; returns the .deb files.

    A download that was stopped goes on where it was. Raises SetupError when this machine's apt
    knows no Debian archive, or the archive cannot be reached.
    """
    if platform.machine() != "x86_64":
        raise SetupError(f"no Godot 4.4 or newer found for {platform.machine()}: set GODOT to one")
    addresses = archive_addresses(output_of(_index_targets_command()))
    if not addresses:
        raise SetupError(
            "no Debian archive in this machine's apt configuration: "
            "install Godot 4.4 or newer, or set GODOT to it"
        )
    apt = PrivateApt(CACHE / "apt")
    _update(apt, addresses)
    run_logged(
        "downloading Godot and its libraries from Debian (about 200 MB)",
        ["apt-get", *apt.options(), "-q", "-y", "--download-only", "install", *packages],
        describe=describe_apt,
    )
    return sorted((apt.folder / "cache" / "archives").glob("*.deb"))


def _index_targets_command() -> list[str]:
    return ["apt-get", "indextargets", "Created-By: Packages", "--format", _TARGET_FORMAT]


def _update(apt: PrivateApt, addresses: Iterable[str]) -> None:
    failure: SetupError | None = None
    for address in addresses:
        apt.prepare(address)
        try:
            run_logged(
                "reading Debian's package lists",
                ["apt-get", *apt.options(), "-q", "-o", "APT::Update::Error-Mode=any", "update"],
                describe=describe_apt,
            )
        except SetupError as error:
            failure = error
        else:
            return
    if failure is not None:
        raise failure
