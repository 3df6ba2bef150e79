"""Texts that an option names by their file."""

from pathlib import Path

from llm.errors import RequestError


def read_text(flag: str, path: str) -> str:
    """Raises RequestError, naming the option, where there is no such file or it is no UTF-8."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise RequestError(f"{flag} {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        problem = f"is no UTF-8 text: {error.reason} at byte {error.start:,}"
        raise RequestError(f"{flag} {path}: {problem}") from None
