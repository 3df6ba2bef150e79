"""Adjusts logits where they are, before the largest are searched: see llm.gpu.adjustments."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llm.gpu import state
from llm.gpu.adjustments import Adjustments
from llm.gpu.device.rendering_device import RenderingDevice
from llm.gpu.dispatch.dispatches import Dispatch, Scratch
from llm.gpu.dispatch.lowering import lower_adjust, lower_mask, mask_words
from llm.gpu.dispatch.state_words import fill_adjusted
from llm.gpu.operations import Tensor

WORD = 4

Words = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class LogitAdjuster:
    """`masks` is the part of the work buffer that takes a mask of each row."""

    device: RenderingDevice
    work: Any
    state: Any
    masks: Scratch
    play: Callable[[Iterable[Dispatch]], None]

    def adjust(self, logits: Tensor, adjustments: Sequence[Adjustments | None]) -> None:
        """Of each row of the logits, in place."""
        for row, found in enumerate(adjustments):
            if found is not None and found.changes_tokens:
                offset = logits.offset + row * logits.width
                self._adjust_tokens(Tensor(offset, 1, logits.width), found)
        masks = [None if found is None else found.mask for found in adjustments]
        if any(mask is not None for mask in masks):
            self._hide(logits, masks)

    def _adjust_tokens(self, row: Tensor, adjustments: Adjustments) -> None:
        size = (state.PICK_IDS - state.ADJUSTED) * WORD  # flags that a run has set stay
        data = self.device.staging(size)
        count = fill_adjusted(np.frombuffer(data.view(), np.uint32), adjustments)
        self.device.write(self.state, state.ADJUSTED * WORD, data, size)
        self.play([lower_adjust(row, count)])

    def _hide(self, logits: Tensor, masks: Sequence[Words | None]) -> None:
        width = mask_words(logits.width)
        data = self.device.staging(logits.rows * width * WORD)
        words = np.frombuffer(data.view(), np.uint32).reshape(logits.rows, width)
        for row, mask in enumerate(masks):
            words[row] = state.NONE if mask is None else mask  # without a mask all may come
        self.device.write(self.work, self.masks.start * WORD, data, words.nbytes)
        self.play([lower_mask(logits, self.masks)])
