"""How much RAM is to be had. Godot tells nothing of the kind of a GPU's own memory."""

from pathlib import Path

from llm.errors import DeviceMemoryError

MEMINFO = Path("/proc/meminfo")  # Linux


def available_ram(meminfo: Path = MEMINFO) -> int | None:
    """Bytes that a program can still take without swapping; None where the system does not say."""
    try:
        lines = meminfo.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, rest = line.partition(":")
        if name == "MemAvailable":
            return int(rest.split()[0]) * 1024  # given in kB, which are KiB
    return None


def require_ram(needed: int, what: str, advice: str) -> None:
    """DeviceMemoryError where `needed` bytes are more than there are.

    Asking for them would not fail: Linux hands out memory that it does not have, and ends the
    process when that is used.
    """
    available = available_ram()
    if available is not None and needed > available:
        raise DeviceMemoryError(
            f"{what} needs {needed:,} bytes of RAM, but {available:,} are available; {advice}"
        )
