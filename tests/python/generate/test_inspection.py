"""What a head looked at is told of any token that is known, and asking changes nothing."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.architectures import gemma3n, gpt_oss, lfm2, qwen35
from support.loading import finish
from support.random_model import VOCABULARY
from support.tiny_gemma import write_tiny_gemma

from llm.errors import RequestError
from llm.generate.model import Model, load_model
from llm.generate.sequence import CachedSequence
from llm.gpu.operations import PAGE_CELLS, Attend
from llm.gpu.reference import attention as reference

CONTEXT = 200
PROMPT = np.random.default_rng(3).integers(0, VOCABULARY, 137).tolist()
CASES: dict[str, Callable[[Path], Path]] = {
    "gemma3": write_tiny_gemma,
    "gemma3n": next(iter(gemma3n.CASES.values())),
    "gpt-oss": next(iter(gpt_oss.CASES.values())),
    "lfm2": lfm2.write_tiny_lfm2,
    "qwen35": qwen35.write_tiny_qwen35,
}
Seen = dict[tuple[int, int], np.ndarray]  # by token and the number of the attention in a run


@pytest.fixture(params=CASES)
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Model]:
    path = CASES[request.param](tmp_path / "tiny.gguf")
    made = finish(
        load_model(str(path), executor="reference", context_length=CONTEXT, chunk_rows=32)
    )
    yield made
    made.close()


def read(sequence: CachedSequence, monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Runs the prompt, and gives what heads did look at."""
    seen: Seen = {}
    attentions = 0

    def note(op: Attend, kv_head: int, q: Any, k: Any, cells: Any, sinks: Any) -> Any:
        nonlocal attentions
        shares, total = plain(op, kv_head, q, k, cells, sinks)
        for row, position in enumerate(cells.positions):
            found = seen.setdefault(
                (int(position), attentions), np.zeros((op.heads, int(position) + 1))
            )
            visible = cells.cells[cells.cells <= position]
            found[reference.heads_of(op, kv_head), visible[0] :] = (shares / total)[
                row, :, : len(visible)
            ]
        attentions += kv_head == op.kv_heads - 1
        return shares, total

    plain = reference.head_shares
    prompt = PROMPT[: sequence.model.context_length - 3]
    with monkeypatch.context() as patch:
        patch.setattr(reference, "head_shares", note)
        done = sequence.keep_common(prompt)
        while done < len(prompt):
            attentions = 0
            end = sequence.chunk_end(len(prompt), sequence.model.chunk_size)
            sequence.forward(prompt[done:end], want_logits=True)
            done = end
            sequence.keep_common(prompt)
    return seen


def layers_with_attention(sequence: CachedSequence) -> list[int]:
    return [
        part.layer for part in sequence.profile_parts() if part.heads and part.layer is not None
    ]


def test_it_is_what_the_run_had(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    sequence = model.sequences.open()
    seen = read(sequence, monkeypatch)
    for number, layer in enumerate(layers_with_attention(sequence)):
        for position in (0, 5, len(sequence) // 2, len(sequence) - 1):
            found = sequence.attention(position, layer)
            assert np.allclose(found, seen[position, number], atol=2e-3), (layer, position)


def test_asking_changes_nothing(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, other = model.sequences.open(), model.sequences.open()
    read(asked, monkeypatch)
    asked.forward([7], want_logits=True)
    layer = layers_with_attention(asked)[-1]
    before = asked.page_map()
    for position in (3, len(asked) - 1):
        asked.attention(position, layer)
    assert asked.page_map() == before
    asked.forward([9], want_logits=True)
    found = model.logits().copy()
    read(other, monkeypatch)
    other.forward([7], want_logits=True)
    other.forward([9], want_logits=True)
    assert np.allclose(found, model.logits(), atol=1e-4 * np.abs(found).max())


def test_tokens_that_are_not_known(model: Model) -> None:
    sequence = model.sequences.open()
    sequence.forward([4, 5], want_logits=False)
    for position in (-1, 2):
        with pytest.raises(RequestError, match=f"position is {position}; .* 0 to 1"):
            sequence.attention(position, 0)
    with pytest.raises(RequestError, match="layer 99 has no attention"):
        sequence.attention(1, 99)


def test_a_page_map(model: Model) -> None:
    sequence, other = model.sequences.open(), model.sequences.open()
    assert sequence.page_map().own == ()
    count = min(2 * PAGE_CELLS + 1, model.context_length - 1)
    for start in range(0, count, model.chunk_size):
        sequence.forward(PROMPT[start : min(start + model.chunk_size, count)], want_logits=False)
    found = sequence.page_map()
    assert found.cells == count
    assert len(found.own) == -(-count // PAGE_CELLS)
    assert [found.users[page] for page in found.own] == [1] * len(found.own)
    assert sum(found.users) == len(found.own)
    assert other.page_map().users == found.users


def test_a_full_context_leaves_no_token_to_time(model: Model) -> None:
    sequence = model.sequences.open()
    for start in range(0, model.context_length, model.chunk_size):
        count = min(model.chunk_size, model.context_length - start)
        sequence.forward([3] * count, want_logits=False)
    with pytest.raises(RequestError, match="the context is full"):
        sequence.profile_parts()
