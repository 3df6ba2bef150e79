"""Which tokens are in a model's KV, so that a beginning already there is not computed again."""

from collections.abc import Collection, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from llm.gpu.sampler import Sampler

if TYPE_CHECKING:
    from llm.generate.model import Model


class Prefix:
    """The ids whose keys and values a model holds, from position 0; every forward is done here."""

    def __init__(self) -> None:
        self._ids: list[int] = []

    def __len__(self) -> int:
        return len(self._ids)

    def clear(self) -> None:
        self._ids.clear()

    def keep_common(self, prompt: Sequence[int]) -> int:
        """Keeps the longest common beginning and gives its length.

        The prompt's last token is never taken as known: logits belong to the latest forward alone,
        and the first token must be drawn from this prompt's.
        """
        pairs = zip(self._ids, prompt[:-1], strict=False)
        known = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        del self._ids[known:]
        return known

    def decode(
        self, model: "Model", token: int, count: int, sampler: Sampler, stops: Collection[int]
    ) -> list[int]:
        """The next `count` tokens after `token`, which follows those known; see Model.decode."""
        try:
            found = model.decode(token, len(self._ids), count, sampler, stops)
        except Exception:
            self.clear()
            raise
        self._ids += [token, *found[:-1]]
        return found

    def forward(self, model: "Model", ids: Sequence[int], *, want_logits: bool) -> None:
        """Runs `ids` after those known. When that fails nothing is known any more."""
        position = len(self._ids)
        outputs = [len(ids) - 1] if want_logits else []
        try:
            model.forward(ids, position, outputs)
        except Exception:
            self.clear()
            raise
        self._ids.extend(ids)
