"""Signals as attributes: `node.ready.connect(f)`, `self.response_updated.emit(1, "x")`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class SignalOfClass:
    """A signal as a class has it; an instance gives a BoundSignal."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else BoundSignal(instance, self.name)


class BoundSignal:
    """The signal of one object."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Any, name: str) -> None:
        self.owner = owner
        self.name = name

    def emit(self, *arguments: Any) -> None:
        """Calls everything connected, on this thread."""
        self.owner.emit_signal(self.name, *arguments)

    def connect(self, function: Any, flags: int = 0) -> None:
        """Lets the signal call `function`; `flags` are Object.CONNECT_…"""
        error = self.owner.connect(self.name, function, flags)
        if error:
            raise ValueError(
                f"{self!r} cannot be connected (error {error}); is it connected to that already?"
            )

    def disconnect(self, function: Any) -> None:
        self.owner.disconnect(self.name, function)

    def is_connected(self, function: Any) -> bool:
        connected: bool = self.owner.is_connected(self.name, function)
        return connected

    @property
    def object_id(self) -> int:
        """Of the object whose signal it is, as 64 bits without a sign."""
        found: int = self.owner.get_instance_id()
        return found & 0xFFFF_FFFF_FFFF_FFFF

    def __repr__(self) -> str:
        return f"<signal {self.name} of {self.owner!r}>"
