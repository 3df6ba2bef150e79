"""How names and sizes from a file are shown in messages of one line."""

_LONGEST = 60


def quoted(text: str) -> str:
    """Text from a file between quotes: one line, printable, and never long."""
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 1] + "…"
    if text.isprintable():
        return f"'{text}'"
    return "'" + "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text) + "'"


def megabytes(size: int) -> str:
    """Bytes as a person reads them, in units of 1024."""
    if size < 1024:
        return f"{size} B"
    amount = size / 1024
    for unit in ("KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"
