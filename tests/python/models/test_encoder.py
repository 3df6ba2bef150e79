"""What encoders have in common is read as it should be, or refused with what is wrong."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.loading import finish
from support.tiny_encoders import CONTEXT, ENCODERS, JINA_BLOCK, WIDTH, bert, gemma, jina, nomic
from support.tiny_gemma import write_tiny_gemma

from llm.errors import LLMError, ModelFileError, RequestError, UnsupportedModelError
from llm.files.gguf import GgufFile
from llm.generate.model import load_model
from llm.gpu.operations import AddBias, AddPositions, Attend, CacheSlab, Tensor
from llm.gpu.program import Program
from llm.gpu.state import MAX_ROWS
from llm.models.registry import Limits, make_program


def program_of(path: Path, context: int = CONTEXT) -> Program:
    with GgufFile.open(str(path)) as file:
        return make_program(file, Limits(context, 8, 1))


@pytest.mark.parametrize("write", ENCODERS.values(), ids=ENCODERS.keys())
def test_no_tensor_is_left_unread(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    path = write(tmp_path / "tiny.gguf")
    taken = {weight.tensor for weight in program_of(path).weights}
    with GgufFile.open(str(path)) as file:
        assert set(file.tensors) == taken


@pytest.mark.parametrize(("context", "rows"), [(CONTEXT, CONTEXT), (700, MAX_ROWS)])
def test_a_run_takes_a_whole_text(tmp_path: Path, context: int, rows: int) -> None:
    program = program_of(nomic(tmp_path / "tiny.gguf"), context)
    assert (program.max_rows, program.max_outputs, program.is_encoder) == (rows, 0, True)
    tape = program.record(rows, 1)
    assert (tape.outputs, tape.logits) == (0, None)
    assert tape.hidden is not None


def test_a_decoder_is_no_encoder(tmp_path: Path) -> None:
    assert not program_of(write_tiny_gemma(tmp_path / "tiny.gguf")).is_encoder


def test_windows(tmp_path: Path) -> None:
    tape = program_of(gemma(tmp_path / "tiny.gguf")).record(8, 0)
    seen = [(op.window, op.ahead) for op in tape.operations if isinstance(op, Attend)]
    assert seen == [(5, 4)] * 5 + [(0, CONTEXT)] + [(5, 4)] * 2


def test_what_is_added_to_tokens(tmp_path: Path) -> None:
    tape = program_of(bert(tmp_path / "tiny.gguf")).record(8, 0)
    kind, position = tape.operations[1:3]
    assert isinstance(kind, AddBias)
    assert (kind.weight.tensor, kind.weight.first_row, kind.weight.rows) == (
        "token_types.weight",
        0,
        1,
    )
    assert isinstance(position, AddPositions)


@pytest.mark.parametrize(
    ("write", "metadata", "kind", "message"),
    [
        (bert, {"attention.layer_norm_epsilon": None}, ModelFileError, "layer_norm_epsilon"),
        (bert, {"attention.layer_norm_epsilon": 0.0}, ModelFileError, "0.0 is not above 0"),
        (bert, {"attention.causal": True}, UnsupportedModelError, "bert.attention.causal"),
        (nomic, {"attention.causal": True}, UnsupportedModelError, "bert.attention.causal"),
        (bert, {"context_length": 97}, ModelFileError, "has 96 positions, and the context 97"),
        (gemma, {"attention.sliding_window": None}, ModelFileError, "sliding_window"),
    ],
)
def test_metadata_that_do_not_fit(
    tmp_path: Path,
    write: Callable[..., Path],
    metadata: dict[str, Any],
    kind: type[LLMError],
    message: str,
) -> None:
    path = write(tmp_path / "broken.gguf", metadata=metadata)
    with pytest.raises(kind, match=message):
        program_of(path, 97)


@pytest.mark.parametrize(
    "name", ["token_embd_norm.bias", "blk.1.attn_q.bias", "position_embd.weight"]
)
def test_a_tensor_that_is_missing(tmp_path: Path, name: str) -> None:
    path = bert(tmp_path / "broken.gguf", without=(name,))
    with pytest.raises(ModelFileError, match=f"tensor {name}: missing"):
        program_of(path)


@pytest.mark.parametrize(
    ("write", "bias"),
    [
        (nomic, "blk.0.ffn_up.bias"),
        (partial(jina, block=JINA_BLOCK), "blk.2.attn_norm_2.bias"),
    ],
    ids=["nomic-bert", "jina-bert-v2"],
)
def test_a_bias_that_nobody_adds(tmp_path: Path, write: Callable[..., Path], bias: str) -> None:
    path = write(tmp_path / "broken.gguf", replaced={bias: np.ones(WIDTH)})
    with pytest.raises(UnsupportedModelError, match=re.escape(bias)):
        program_of(path)


def test_slopes() -> None:
    """Of 12 heads those of 8, and 4 that stand between them."""
    q, y = Tensor(0, 1, 96), Tensor(96, 1, 96)
    slopes = Attend(q, CacheSlab(0, 256, 96), y, 12, 12, 0, alibi=8.0).slopes
    assert slopes[:8] == [2.0**-step for step in range(1, 9)]
    assert slopes[8:] == [2.0 ** -(step + 0.5) for step in range(4)]


def test_an_embedding_model_answers_nothing(tmp_path: Path) -> None:
    model = finish(load_model(str(bert(tmp_path / "tiny.gguf")), executor="reference"))
    model.forward([2, 9, 3], 0, [])
    assert model.hidden().shape == (3, WIDTH)
    for asks in (lambda: model.forward([2, 9, 3], 0, [2]), lambda: model.profile([2, 9], 0)):
        with pytest.raises(RequestError, match=r"tiny\.gguf is an embedding model"):
            asks()
