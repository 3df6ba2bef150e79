"""Gemma 4 on the device: what the reference gives, wherever per-layer embeddings are."""

from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Type
from support.architectures.gemma4 import DENSE, EXPERTS, WIDTH, write_gemma4
from support.loading import finish
from support.random_model import VOCABULARY
from support.rounded_inputs import round_inputs
from support.tiny_models import TOLERANCE, error

from llm.errors import NumericError
from llm.files.repack import PLANES
from llm.generate.model import Model, load_model
from llm.gpu.device import upload
from llm.gpu.device.rendering_device import open_device
from llm.gpu.dispatch.executor import DispatchExecutor
from llm.gpu.fused import executor as fused
from llm.gpu.fused import persistent
from llm.gpu.fused.persistent import PersistentExecutor
from llm.gpu.sampler import GREEDY

PROMPT = np.random.default_rng(3).integers(0, VOCABULARY, 61).tolist()


def load(path: Path, name: str) -> Model:
    return finish(
        load_model(str(path), executor=name, context_length=96, max_outputs=64, chunk_rows=64)
    )


def load_dispatch(path: Path, *, is_cpu: bool) -> Model:
    device = open_device()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device, "is_cpu", is_cpu)
        patch.setattr(fused, "FusedExecutor", DispatchExecutor)
        return load(path, "dispatch")


def logits_of(model: Model, pieces: list[int]) -> np.ndarray:
    found, start = [], 0
    for count in pieces:
        ids = PROMPT[start : start + count]
        model.forward(ids, start, range(len(ids)))
        found.append(model.logits().copy())
        start += count
    return np.concatenate(found)


@pytest.mark.parametrize("has_room", [True, False], ids=["on the device", "in RAM"])
@pytest.mark.parametrize("kind", [Type.Q8_0, Type.Q4_0, Type.F16], ids=lambda kind: kind.name)
def test_layer_embeddings(
    tmp_path: Path, kind: Type, has_room: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Formats that no kernel reads stay in RAM."""
    path = write_gemma4(tmp_path / "tiny.gguf", formats={"per_layer_token_embd": kind})
    expected = logits_of(load(path, "reference"), [61])
    monkeypatch.setitem(vars(open_device()), "memory", 1 << 40 if has_room else 1 << 10)
    model = load_dispatch(path, is_cpu=False)
    assert error(logits_of(model, [31, *[1] * 4, 26]), expected) < TOLERANCE
    rows = model._executor._table_rows
    assert bool(rows) == (not has_room or kind.name.lower() not in PLANES)
    model.close()


def test_gates_and_ups_of_one_tensor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Come apart in slices that end within an expert, or hold parts of several."""
    path = write_gemma4(tmp_path / "m.gguf", EXPERTS, formats={"ffn_gate_up_exps": Type.Q5_0})
    expected = logits_of(load(path, "reference"), [61])
    found = []
    for rows in (1000, 8, 100):
        monkeypatch.setattr(upload, "SLICE_BYTES", rows * WIDTH // 32 * 22)
        model = load_dispatch(path, is_cpu=True)
        found.append(logits_of(model, [61]))
        model.close()
    assert error(found[0], expected) < TOLERANCE
    assert np.array_equal(found[1], found[0])
    assert np.array_equal(found[2], found[0])


@pytest.mark.parametrize("is_cpu", [True, False], ids=["software", "hardware"])
def test_a_cap_hides_no_overflow(tmp_path: Path, is_cpu: bool) -> None:
    output = np.full((VOCABULARY, WIDTH), 0.1)
    output[7, 0] = np.inf
    path = write_gemma4(tmp_path / "tiny.gguf", DENSE, replaced={"output.weight": output})
    model = load_dispatch(path, is_cpu=is_cpu)
    model.forward(PROMPT[:3], 0, [2])
    for count in (1, 40):
        with pytest.raises(NumericError, match="NaN or infinite"):
            model.candidates(count)
    model.close()


def test_several_tokens_a_submit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the device has all that the next token needs; test_persistent.py has it in RAM."""
    round_inputs(monkeypatch)
    path = write_gemma4(tmp_path / "tiny.gguf", formats={"per_layer_token_embd": Type.Q8_0})
    monkeypatch.setattr(open_device(), "is_cpu", False)
    monkeypatch.setattr(persistent, "resident_groups", lambda _meet: 1)
    played: list[int] = []
    play = PersistentExecutor._play_tokens

    def counted(self: PersistentExecutor, n_tokens: int, position: int, *, draws: bool) -> None:
        played.append(n_tokens)
        play(self, n_tokens, position, draws=draws)

    monkeypatch.setattr(PersistentExecutor, "_play_tokens", counted)
    models = [load(path, name) for name in ("persistent", "reference")]
    found = []
    for model in models:
        model.submit_seconds = 1000.0
        model.forward(PROMPT[:8], 0, [])
        found.append(model.decode(PROMPT[8], 8, 12, GREEDY, ()))
    assert found[0] == found[1]
    assert models[0].executor == "persistent"
    assert max(played) > 1
    models[0].close()
