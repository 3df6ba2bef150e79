"""Makes the reference keep keys and values in float32, as llama.cpp does where it is compared.

Then hardly anything is rounded on the way, and near ties of a router fall the same way.
"""

from typing import Any

import numpy as np
import pytest

from llm.gpu.reference.workspace import Workspace


def keep_cells_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Workspace.__init__

    def make(self: Workspace, *arguments: Any) -> None:
        made(self, *arguments)
        self.cache = self.cache.astype(np.float32)

    monkeypatch.setattr(Workspace, "__init__", make)
