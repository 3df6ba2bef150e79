"""LoRA adapters on the GPU executors: what the reference gives; without them all is as ever."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from support.architectures import phi3
from support.executors import load, load_dispatch, load_persistent
from support.logits import logits_of
from support.random_model import VOCABULARY
from support.tiny_adapter import write_tiny_adapter
from support.tiny_llama import HEAD_SIZE, KV_HEADS, WIDTH, write_tiny_llama
from support.tiny_models import SHARP, TOLERANCE, error

from llm.errors import DeviceMemoryError
from llm.generate.model import Model, Row
from llm.generate.request import AdapterUse
from llm.gpu.sampler import GREEDY, Draw

PROMPT = np.random.default_rng(3).integers(0, VOCABULARY, 61).tolist()
PIECES = ([61], [7] * 4 + [3] + [1] * 30)
ALL = (
    "attn_q",
    "attn_k",
    "attn_v",
    "attn_output",
    "ffn_gate",
    "ffn_up",
    "ffn_down",
    "output",
)

LOADERS: dict[str, Callable[[Path], Model]] = {
    "software": lambda path: load_dispatch(path, is_cpu=True),
    "hardware": lambda path: load_dispatch(path, is_cpu=False),
    "persistent": load_persistent,
}


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A model, and two adapters of it."""
    folder = tmp_path_factory.mktemp("adapters")
    model = write_tiny_llama(folder / "tiny.gguf")
    numbers = np.random.default_rng(8)
    other_rank = {  # than the other matrices have
        f"blk.1.attn_v.weight.lora_{side}": numbers.normal(0.0, 0.05, shape).astype(np.float32)
        for side, shape in (("a", (33, WIDTH)), ("b", (KV_HEADS * HEAD_SIZE, 33)))
    }
    few = write_tiny_adapter(folder / "few.gguf", model, replaced=other_rank)
    every = write_tiny_adapter(
        folder / "all.gguf", model, names=ALL, rank=40, alpha=60.0, seed=5, dtype=np.float16
    )
    return model, few, every


@pytest.fixture(params=LOADERS)
def model(request: pytest.FixtureRequest, paths: tuple[Path, Path, Path]) -> Iterator[Model]:
    made = LOADERS[request.param](paths[0])
    yield made
    made.close()


def uses(paths: Sequence[Path], *weights: float) -> list[AdapterUse]:
    return [AdapterUse(str(path), weight) for path, weight in zip(paths, weights, strict=False)]


def test_logits(paths: tuple[Path, Path, Path], model: Model) -> None:
    """One, two, another weight of both, and none."""
    reference = load(paths[0], "reference")
    plain = logits_of(reference, PROMPT, [61])
    sequences = [each.sequences.open() for each in (model, reference)]
    for weights in ((1.0,), (0.5, -1.0), (0.25, 1.0), (0.0, 0.0)):
        for sequence in sequences:
            sequence.adapt(uses(paths[1:], *weights))
        expected = logits_of(reference, PROMPT, [61])
        assert (error(expected, plain) > 0.1) == any(weights)
        limit = SHARP if model.executor == "persistent" else TOLERANCE
        for pieces in PIECES:
            assert error(logits_of(model, PROMPT, pieces), expected) < limit


@pytest.mark.parametrize("is_cpu", [True, False], ids=["software", "hardware"])
def test_rows_of_a_matrix(tmp_path: Path, is_cpu: bool) -> None:
    """Queries, keys and values, or gate and up, are one matrix in the file."""
    path = phi3.write(tmp_path / "tiny.gguf")
    adapter = write_tiny_adapter(tmp_path / "lora.gguf", path, names=("attn_qkv", "ffn_up"))
    reference, model = load(path, "reference"), load_dispatch(path, is_cpu=is_cpu)
    plain = logits_of(reference, PROMPT, [61])
    for each in (reference, model):
        each.sequences.open().adapt(uses([adapter], 2.0))
    expected = logits_of(reference, PROMPT, [61])
    assert error(expected, plain) > 0.1
    for pieces in PIECES:
        assert error(logits_of(model, PROMPT, pieces), expected) < TOLERANCE
    model.close()


def test_sequences_of_their_own(paths: tuple[Path, Path, Path], model: Model) -> None:
    """Two share an adapter, at weights of their own; a third has none, and runs as ever."""
    first, second, plain = (model.sequences.open() for _ in range(3))
    for sequence, weight in ((first, 1.0), (second, -1.0), (plain, 0.0)):
        if weight:
            sequence.adapt(uses(paths[2:], weight))
        sequence.forward(PROMPT[:40], want_logits=False)
    expected = []
    for sequence in (first, second, plain):
        alone = load(paths[0], "reference").sequences.open()
        alone.adapt(uses(paths[2:], dict(sequence.adapters.gains).get(1, 0.0)))
        alone.forward(PROMPT[:40], want_logits=False)
        expected.append(alone.decode(PROMPT[40], 6, GREEDY, ()))
    found: list[list[int]] = [[], [], []]
    for _ in range(3):  # in turn, two tokens at a time
        for place, sequence in enumerate((first, second, plain)):
            token = found[place][-1] if found[place] else PROMPT[40]
            found[place] += sequence.decode(token, 2, GREEDY, ())
    assert found == expected
    assert len({tuple(each) for each in found}) == 3


def test_rows_together(paths: tuple[Path, Path, Path], model: Model) -> None:
    """Tokens of several sequences that have the same, drawn in runs that follow each other."""
    expected, rows = [], []
    reference = load(paths[0], "reference")
    for number, length in enumerate((40, 17, 3)):
        sequences = [each.sequences.open() for each in (model, reference)]
        for sequence in sequences:
            sequence.adapt(uses(paths[1:], 0.5, 1.0))
            sequence.forward(PROMPT[number : number + length], want_logits=False)
            sequence.reserve(5)
        rows.append(Row(sequences[0].number, PROMPT[60], length))
        expected.append(sequences[1].decode(PROMPT[60], 4, GREEDY, ()))
    draws = [Draw(GREEDY, row.position + 1, None) for row in rows]
    assert model.decode_rows(rows, draws, 4) == expected


def test_memory_comes_back(paths: tuple[Path, Path, Path], model: Model) -> None:
    """When the last that has it lets go."""
    before = model.memory_bytes
    first, second = model.sequences.open(), model.sequences.open()
    first.adapt(uses(paths[1:], 1.0))
    held = model.memory_bytes
    assert held > before
    second.adapt(uses(paths[1:], 0.5))
    assert model.memory_bytes == held
    first.close()
    assert model.memory_bytes == held
    second.adapt(())
    assert model.memory_bytes == before
    second.forward(PROMPT, want_logits=True)
    expected = logits_of(load(paths[0], "reference"), PROMPT, [61])[-1:]
    assert error(model.logits(), expected) < SHARP


def test_too_many_activations(tmp_path: Path, paths: tuple[Path, Path, Path]) -> None:
    """A rank beyond what there is room for is an error of both sizes, and changes nothing."""
    large = write_tiny_adapter(tmp_path / "large.gguf", paths[0], rank=3000)
    model = load_dispatch(paths[0], is_cpu=True)
    before = model.memory_bytes
    sequence = model.sequences.open()
    with pytest.raises(DeviceMemoryError, match="bytes of activations, and there are"):
        sequence.adapt(uses([large], 1.0))
    assert model.memory_bytes == before
    sequence.forward(PROMPT, want_logits=True)
    model.close()
