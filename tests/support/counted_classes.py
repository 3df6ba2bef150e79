"""RefCounted classes of a test project, imported at the engine's start as an add-on's are."""

from __future__ import annotations

from typing import Any

from godot import Node, PackedStringArray, RefCounted, Resource, export, exposed

freed: list[str] = []


class Witness:
    """Tells when the attributes that it is among are gone."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __del__(self) -> None:
        freed.append(self.name)


@exposed
class CountedThing(RefCounted):
    """An object that engine and Python hold together."""

    label = export(str)
    words = export(PackedStringArray)
    other = export(RefCounted)

    def __init__(self) -> None:
        self.witness = Witness("thing")

    def rename(self, label: str) -> str:
        self.label = self.witness.name = label
        return self.label

    def itself(self) -> CountedThing:
        return self

    @staticmethod
    def freed_names() -> list[str]:
        """The names of those gone since the last call."""
        found = freed[:]
        freed.clear()
        return found


@exposed
class HandsItselfOut(RefCounted):
    """While `__init__` runs, nobody but Python holds it."""

    seen = export(int)

    def __init__(self) -> None:
        self.set_meta("self", self)
        self.remove_meta("self")
        self.seen = 7


@exposed
class SavedPart(Resource):
    """What a part of the saved one has."""

    weight = export(float, default=1.5)


@exposed
class SavedThing(Resource):
    """A resource with one of everything that is saved."""

    level = export(float, default=0.5)
    words = export(PackedStringArray)
    table = export(dict[str, Any])
    part = export(SavedPart)
    image = export(Resource)


@exposed
class Holder(Node):
    """A node with resources, which also keeps things where only Python sees them."""

    thing = export(CountedThing)
    saved = export(SavedThing)

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def keep(self, thing: CountedThing) -> int:
        self.kept.append(thing)
        return len(self.kept)

    def kept_label(self) -> str:
        return str(self.kept[-1].label)

    def make(self, label: str) -> CountedThing:
        made: CountedThing = CountedThing()
        made.rename(label)
        return made

    def drop(self) -> None:
        self.kept.clear()


# Held until the engine ends.
at_the_end: list[Any] = [CountedThing(), Resource()]
