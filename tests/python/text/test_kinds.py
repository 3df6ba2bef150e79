"""What files leave unsaid, by the kind of vocabulary, and which tokens are known by their text."""

import numpy as np
import pytest

from llm.errors import ModelFileError
from llm.files.metadata import Metadata
from llm.text.kinds import kind_of
from llm.text.tokenizer import Tokenizer

TOKENS = [b"%d" % number for number in range(104)]


def made(model, *, tokens=TOKENS, types=None, name="", **more):
    values = {"model": model, "tokens": tokens, "merges": []} | more
    if types is not None:
        values["token_type"] = np.array(types, np.int32)
    keys = {f"tokenizer.ggml.{key}": value for key, value in values.items()}
    return Tokenizer.from_metadata(Metadata(keys | {"general.name": name}, "m.gguf"))


def controls(*ids):
    return [3 if token in ids else 1 for token in range(len(TOKENS))]


@pytest.mark.parametrize(
    ("model", "ids", "bos", "eos"),
    [
        ("llama", (1, 2), 1, 2),
        ("gpt2", (11,), 11, 11),
        ("gpt2", (1, 2), None, None),  # 11 is a comma in many vocabularies
        ("gemma4", (1, 2), None, None),
        ("bert", (100, 101, 102), 101, 102),
        ("t5", (0, 1, 2), None, 1),
    ],
)
def test_tokens_that_files_do_not_name(model, ids, bos, eos):
    tokenizer = made(model, types=controls(*ids))
    assert (tokenizer.bos_id, tokenizer.eos_id) == (bos, eos)


@pytest.mark.parametrize(
    ("model", "more", "around"),
    [
        ("gpt2", {}, ([], [])),
        ("gpt2", {"pre": "llama-bpe"}, ([1], [])),
        ("gpt2", {"pre": "tekken"}, ([1], [])),
        ("gpt2", {"pre": "llama-bpe", "add_bos_token": False}, ([], [])),
        ("gpt2", {"pre": "qwen2", "add_bos_token": True, "add_eos_token": True}, ([1], [2])),
        ("gemma4", {"add_bos_token": False}, ([1], [])),
        ("bert", {"add_bos_token": False, "add_eos_token": False}, ([1], [3])),
        ("t5", {}, ([], [2])),
        ("t5", {"add_bos_token": True, "add_eos_token": False}, ([1], [])),
    ],
)
def test_what_surrounds_a_whole_text(model, more, around):
    ids = {"bos_token_id": 1, "eos_token_id": 2, "seperator_token_id": 3}
    tokenizer = made(model, types=controls(1, 2, 3), **ids, **more)
    first, last = around
    assert tokenizer.encode("") == first
    assert tokenizer.encode_whole("") == [*first, *last]


@pytest.mark.parametrize(
    ("pre", "words"),
    [("", "is missing"), ("qwen9", "is 'qwen9', which is not known")],
)
def test_a_guess_is_told(pre, words):
    tokenizer = made("gpt2", **({"pre": pre} if pre else {}))
    assert tokenizer.warning.startswith(f"m.gguf: tokenizer.ggml.pre {words}: text is cut")


@pytest.mark.parametrize(("model", "pre"), [("gpt2", "qwen2"), ("gpt2", "default"), ("llama", "x")])
def test_nothing_guessed_is_nothing_told(model, pre):
    assert made(model, pre=pre).warning == ""


def test_merges_must_be_there():
    with pytest.raises(ModelFileError, match=r"tokenizer\.ggml\.merges: is missing"):
        Tokenizer.from_metadata(
            Metadata({"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.tokens": TOKENS}, "m.gguf")
        )


def ends(*texts, types=None):
    tokens = [b"a", *(text.encode() for text in texts)]
    return made("gpt2", tokens=tokens, types=[1, *(types or [3] * len(texts))]).end_ids


def test_ends_are_known_by_their_text():
    assert ends("<|im_end|>", "<|im_start|>") == {1}
    assert ends("<|fim_pad|>", "<|repo_name|>", "<|file_sep|>", "<|fim_prefix|>") == {1, 2, 3}
    assert ends("<|end|>", "<|flush|>", "<|calls|>") == {2, 3}
    assert ends("[e~[") == {1}
    assert ends("</s>", "<eos>") == {1, 2}
    assert ends("</s>", types=[4]) == set()


def test_beside_an_end_of_gemma_4_a_struck_through_text_ends_plainly():
    tokens = [b"<", b"/", b"s", b">", b"</s>", b"<|tool_response>"]
    tokenizer = made("gemma4", tokens=tokens, types=[1, 1, 1, 1, 4, 3], add_bos_token=True)
    assert tokenizer.end_ids == {5}
    assert tokenizer.encode("</s>", parse_special=True) == [0, 1, 2, 3]
    assert tokenizer.piece(4) == b"</s>"


@pytest.mark.parametrize("text", ["<|fim_prefix|>", "<｜fim▁hole｜>", "<fim-middle>", "<|im_end|>"])  # noqa: RUF001
def test_markers_that_the_file_calls_plain_are_not_typed(text):
    tokenizer = made("gpt2", tokens=[b"a", text.encode()], types=[1, 1])
    assert tokenizer.encode(text, parse_special=True) == [1]
    assert tokenizer.encode(text) == []


@pytest.mark.parametrize(
    ("name", "pre", "mask"),
    [("", "jina-v2-de", "<mask>"), ("ModernBERT modern-bert", "modern-bert", "[MASK]")],
)
def test_a_mask_swallows_the_space_before_it(name, pre, mask):
    tokens = ["Ġ".encode(), b"a", mask.encode()]
    tokenizer = made("gpt2", tokens=tokens, types=[1, 1, 3], pre=pre, name=name)
    assert tokenizer.encode(f"a {mask} a", parse_special=True) == [1, 2, 0, 1]
    tokenizer = made("gpt2", tokens=tokens, types=[1, 1, 3], pre="qwen2")
    assert tokenizer.encode(f"a {mask} a", parse_special=True) == [1, 0, 2, 0, 1]


def test_kinds_are_of_the_file():
    metadata = Metadata({"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "tekken"}, "m.gguf")
    assert kind_of(metadata).pre_tokenizer is not None
    assert kind_of(metadata).add_bos
