"""What can go wrong when Python calls the engine."""


class FreedObjectError(ReferenceError):
    """The engine's object behind a Python one is gone."""
