"""Makes the reference take gelu from halves, as llama.cpp does on a CPU where it is compared.

It has a table of all float16 (`ggml_vec_gelu_f32`, used from -10 to 10): exact, ours gave other
likeliest tokens by up to 2.7e-3 nats, in models whose layers make much of small differences.
"""

import numpy as np
import pytest

from llm.gpu.operations import Activation
from llm.gpu.program import Floats
from llm.gpu.reference import dense

END = 10.0


def round_gelu(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = dense.activated

    def rounded(gate: Floats, activation: Activation) -> Floats:
        if activation is not Activation.GELU:
            return exact(gate, activation)
        halves = np.clip(gate, -END, END).astype(np.float16).astype(np.float32)
        found = exact(halves, activation).astype(np.float16).astype(np.float32)
        return np.where(gate >= END, gate, np.where(gate <= -END, np.float32(0), found))

    monkeypatch.setattr(dense, "activated", rounded)
