"""How names and sizes from a file are shown in messages of one line."""

from llm.errors import printable

_LONGEST = 60


def quoted(text: str) -> str:
    """Text from a file between quotes: on one line, and never long."""
    return f"'{printable(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + '…')}'"


def readable_size(size: int) -> str:
    """Bytes as a person reads them, in units of 1024."""
    if size < 1024:
        return f"{size} B"
    amount = size / 1024
    for unit in ("KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"
