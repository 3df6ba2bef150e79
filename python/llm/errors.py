"""Every error that a user of the engine can meet.

LLMError
├── ModelFileError          the file is missing, damaged, truncated or not GGUF
├── UnsupportedModelError   a sound file that needs something this build does not have
├── DeviceError             no usable GPU, or a kernel does not compile
│   └── DeviceMemoryError   what a load would cost does not fit, or an allocation was refused
├── StateFileError          what was saved is missing, damaged, truncated or newer
├── RequestError            an empty prompt, a prompt longer than the context, a busy node
└── NumericError            the model's own numbers are not finite
"""

from collections.abc import Iterable


def printable(text: str) -> str:
    """Text on one line, whatever was in it: a path may hold line ends and terminal codes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


class LLMError(Exception):
    """Base of every error that crosses into Godot. Its text is one line."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class ModelFileError(LLMError):
    """The bytes on disk are wrong; the message names the file, the field and both numbers."""

    def __init__(self, path: str, field: str, problem: str) -> None:
        super().__init__(f"{path}: {field}: {problem}")
        self.path = path
        self.field = field
        self.problem = problem


class UnsupportedModelError(LLMError):
    """The file is sound, but asks for what this build does not run."""

    def __init__(self, path: str, field: str, found: object, supported: Iterable[str]) -> None:
        names = ", ".join(sorted(supported))
        super().__init__(f"{path}: {field} is '{found}'; this build runs {names}")
        self.path = path
        self.field = field
        self.found = found


class DeviceError(LLMError):
    """The GPU, its driver or one of our kernels failed."""


class DeviceMemoryError(DeviceError):
    """An allocation was refused or would not fit; the message holds both sizes in bytes."""


class RequestError(LLMError):
    """The caller asked for something that cannot be answered; the node stays usable."""


class StateFileError(LLMError):
    """What was saved cannot be read or written; the message names the file and the field."""

    def __init__(self, path: str, field: str, problem: str) -> None:
        super().__init__(f"{path}: {field}: {problem}")


class NumericError(LLMError):
    """Logits are NaN or infinite, so no token can be chosen."""
