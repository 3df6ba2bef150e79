"""The models that are loaded, each once, however many sessions use it."""

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from llm.generate.request import LoadSpec

if TYPE_CHECKING:
    from llm.generate.model import Model


class LoadModel(Protocol):
    """Loads in pieces, yielding the fraction done; closing it early frees everything."""

    def __call__(
        self, path: str, *, executor: str, context_length: int, quantize: str
    ) -> "Generator[float, None, Model]": ...


@dataclass(slots=True, eq=False)
class _Entry:
    """A model, or the load of one. Whoever takes a step brings that on for all."""

    spec: LoadSpec
    loading: "Generator[float, None, Model]"
    users: int = 0
    fraction: float = 0.0
    model: "Model | None" = None
    problem: Exception | None = None

    def step(self) -> None:
        """Raises what the load raised, to each of those who wait for it."""
        if self.model is not None:
            return
        if self.problem is not None:
            raise self.problem
        try:
            self.fraction = next(self.loading)
        except StopIteration as finished:
            self.model = finished.value
        except Exception as problem:
            self.problem = problem
            raise


class ModelLibrary:
    """On the worker thread alone."""

    def __init__(self, load_model: LoadModel) -> None:
        self._load_model = load_model
        self._entries: list[_Entry] = []

    def borrow(self, spec: LoadSpec) -> "Generator[float, None, Model]":
        """Yields the fraction done; returns a model for as many tokens as `spec` asks, or more.

        It is to be given back. Closing the generator gives the load up, for this one who waits.
        """
        entry = self._entry_of(spec)
        entry.users += 1
        try:
            entry.step()
            while entry.model is None:
                yield entry.fraction
                entry.step()
        except BaseException:
            self._leave(entry)
            raise
        return entry.model

    def give_back(self, model: "Model") -> None:
        """The last one to do so frees it."""
        self._leave(next(entry for entry in self._entries if entry.model is model))

    def _entry_of(self, spec: LoadSpec) -> _Entry:
        for entry in self._entries:
            if entry.problem is None and _serves(entry.spec, spec):
                return entry
        loading = self._load_model(
            spec.path,
            executor=spec.executor,
            context_length=spec.context_length,
            quantize=spec.quantize,
        )
        self._entries.append(_Entry(spec, loading))
        return self._entries[-1]

    def _leave(self, entry: _Entry) -> None:
        entry.users -= 1
        if entry.users > 0:
            return
        self._entries.remove(entry)
        entry.loading.close()
        if entry.model is not None:
            entry.model.close()


def _serves(loaded: LoadSpec, wanted: LoadSpec) -> bool:
    """A longer context than a model was loaded for takes another load."""
    same = replace(loaded, context_length=wanted.context_length) == wanted
    return same and loaded.context_length >= wanted.context_length
