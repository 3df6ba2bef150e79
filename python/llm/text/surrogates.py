"""Strings from the engine may hold halves of surrogate pairs, which no UTF-8 can."""


def without_surrogates(text: str) -> str:
    """Joins surrogate pairs into the characters they mean; a half alone becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
