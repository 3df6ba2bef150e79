"""Which part of a model each operation of a tape belongs to, and each step that is made of them.

The names of their weights tell: those of a layer begin with "blk.", and its number.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from llm.errors import RequestError
from llm.gpu.operations import (
    Attend,
    CacheStore,
    Convolve,
    DeltaRule,
    Operation,
    SelectRows,
    Weight,
)
from llm.gpu.profile import WorkTime

EMBEDDING, HEAD = "embedding", "head"
OF_LAYER = re.compile(r"blk\.(\d+)\.")
HALF = 2  # bytes of a float16, as cells have them
FLOAT = 4

Work = TypeVar("Work")
Place = tuple[int | None, str]  # the layer's number, where it is one, and what it is called


@dataclass(frozen=True, slots=True)
class PartCost:
    """What a part takes for one token, and all the time."""

    name: str
    layer: int | None
    seconds: float
    weight_bytes: int  # what several parts have counts once
    cell_bytes: int  # of the key/value cache, a token
    state_bytes: int  # of recurrent state, a sequence
    heads: int  # of attention; 0: there is none
    window: int  # cells that these see; 0: all


def places_of(works: Sequence[Work]) -> list[Place]:
    """Work without a weight of a layer belongs where that before it does."""
    layers = [_layer_of(work) for work in works]
    end = max((at for at, layer in enumerate(layers) if layer is not None), default=-1) + 1
    while end < len(works) and not _begins_head(works[end]):
        end += 1
    places: list[Place] = []
    for at, layer in enumerate(layers):
        if at >= end:
            places.append((None, HEAD))
        elif layer is not None:
            places.append((layer, f"layer {layer}"))
        else:
            places.append(places[-1] if places else (None, EMBEDDING))
    return places


def parts_of(works: Sequence[Work]) -> dict[Place, list[Work]]:
    """The work of each place, in order."""
    found: dict[Place, list[Work]] = {}
    for place, work in zip(places_of(works), works, strict=True):
        found.setdefault(place, []).append(work)
    return found


def until_attention(operations: Sequence[Operation], layer: int) -> tuple[list[Operation], Attend]:
    """What a layer's attention needs, where the cells are there already; and that attention.

    Raises RequestError where that layer has none.
    """
    before: list[Operation] = []
    having: list[str] = []
    for (number, _), op in zip(places_of(operations), operations, strict=True):
        if isinstance(op, Attend):
            if number == layer:
                return before, op
            having.append(str(number))
        if not isinstance(op, CacheStore):
            before.append(op)
    raise RequestError(f"layer {layer} has no attention; those that have: {', '.join(having)}")


def costs_of(operations: Sequence[Operation], times: Sequence[WorkTime]) -> list[PartCost]:
    """Of each part of a tape; `times` name the parts."""
    seconds = {work.what: work.count * work.microseconds / 1e6 for work in times}
    counted: set[str] = set()
    found = []
    for (layer, name), part in parts_of(operations).items():
        weights = {weight.name: weight.size for op in part for weight in _weights_of(op)}
        fresh = sum(size for weight, size in weights.items() if weight not in counted)
        counted.update(weights)
        stores = [op.cache.width for op in part if isinstance(op, CacheStore)]
        states = [op.state.floats for op in part if isinstance(op, Convolve | DeltaRule)]
        attends = [op for op in part if isinstance(op, Attend)]
        found.append(
            PartCost(
                name=name,
                layer=layer,
                seconds=seconds.get(name, 0.0),
                weight_bytes=fresh,
                cell_bytes=sum(stores) * 2 * HALF,
                state_bytes=sum(states) * FLOAT,
                heads=attends[0].heads if attends else 0,
                window=attends[0].window if attends else 0,
            )
        )
    return found


def _begins_head(work: Any) -> bool:
    return isinstance(work, SelectRows) or any(True for _ in _weights_of(work))


def _layer_of(work: Any) -> int | None:
    found = (OF_LAYER.match(weight.tensor) for weight in _weights_of(work))
    return next((int(match[1]) for match in found if match is not None), None)


def _weights_of(work: Any) -> Iterator[Weight]:
    """Those that it multiplies with, where there are several kinds."""
    values: Iterable[Any] = getattr(work, "weights", None) or (
        getattr(work, field.name) for field in fields(work)
    )
    return (value for value in values if isinstance(value, Weight))
