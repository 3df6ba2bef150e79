"""What is raised where a model has no steps; it runs as operations then."""


class NoStepError(Exception):
    """The architecture does something that the steps kernel has no step for."""
