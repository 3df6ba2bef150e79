"""Vocabularies that are damaged are refused by name; odd ones that can work do."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm.errors import ModelFileError, UnsupportedModelError
from llm.files.metadata import Metadata
from llm.text.tokenizer import Tokenizer

BYTES = [f"<0x{value:02X}>".encode() for value in range(256)]


def metadata(tokens, types=None, **more):
    """Metadata of a vocabulary; `more` are other `tokenizer.ggml.` keys, or better values."""
    values = {
        "model": "llama",
        "tokens": tokens,
        "scores": np.zeros(len(tokens), np.float32),
        "token_type": np.array(types or [1] * len(tokens), np.int32),
        "add_bos_token": False,
        "add_space_prefix": False,
    } | more
    return Metadata({f"tokenizer.ggml.{key}": value for key, value in values.items()}, "m.gguf")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param(
            {"scores": np.zeros(2, np.float32)}, "scores: has 2 entries for 3 tokens", id="scores"
        ),
        pytest.param(
            {"token_type": np.ones(4, np.int32)},
            "token_type: has 4 entries for 3 tokens",
            id="types",
        ),
        pytest.param(
            {"scores": np.array([0, np.nan, 0], np.float32)}, "scores: is nan for token 1", id="nan"
        ),
        pytest.param({"bos_token_id": 3}, "bos_token_id: is 3", id="bos beyond the vocabulary"),
        pytest.param({"eos_token_id": -2}, "eos_token_id: is -2", id="negative end"),
        pytest.param(
            {"eot_token_id": np.zeros(2)}, "eot_token_id: expected a whole number", id="no number"
        ),
        pytest.param({"unknown_token_id": 9}, "unknown_token_id: is 9", id="unknown"),
    ],
)
def test_damaged_vocabularies_are_refused(changes, message):
    with pytest.raises(ModelFileError) as error:
        Tokenizer.from_metadata(metadata([b"a", b"b", b"c"], **changes))
    assert str(error.value).startswith("m.gguf: tokenizer.ggml.")
    assert message in str(error.value)


@pytest.mark.parametrize("none", [2**32 - 1, -1])
def test_a_file_may_say_that_a_token_is_not_there(none):
    roles = ("bos", "eos", "eot", "eom", "padding", "unknown")
    changes = {f"{role}_token_id": none for role in roles}
    tokenizer = Tokenizer.from_metadata(metadata([b"a", b"b", b"c"], **changes))
    assert (tokenizer.bos_id, tokenizer.eos_id, tokenizer.end_ids) == (None, None, frozenset())
    assert tokenizer.encode("b?") == [1, 0]
    # As if the key were missing: the usual places count where control tokens are.
    tokenizer = Tokenizer.from_metadata(metadata([b"a", b"<s>", b"</s>"], [1, 3, 3], **changes))
    assert (tokenizer.bos_id, tokenizer.eos_id, tokenizer.end_ids) == (1, 2, {2})


@pytest.mark.parametrize("beyond", [3, 2**31, 2**64 - 1, -2])
def test_an_end_token_outside_the_vocabulary_is_none(beyond):
    tokens = [b"a", b"b", b"<end>"]
    changes = {"eos_token_id": 2, "eot_token_id": beyond, "eom_token_id": beyond}
    tokenizer = Tokenizer.from_metadata(metadata(tokens, [1, 1, 3], **changes))
    assert tokenizer.end_ids == {2}


@pytest.mark.parametrize(
    ("others", "ends"),
    [
        (["<|return|>", "<|call|>"], {2, 4, 5}),  # gpt-oss
        (["<|call|>"], {2, 3, 4}),
        ([], {2, 3}),
    ],
)
def test_the_end_of_a_message_ends_no_answer_where_other_tokens_do(others, ends):
    tokens = [text.encode() for text in ("<unk>", "<s>", "</s>", "<|end|>", *others)]
    types = [2, *[3] * (len(tokens) - 1)]
    assert Tokenizer.from_metadata(metadata(tokens, types)).end_ids == ends


def test_vocabularies_that_are_not_there_are_named():
    with pytest.raises(UnsupportedModelError, match=r"tokenizer\.ggml\.model is 'rwkv'"):
        Tokenizer.from_metadata(metadata([b"a"], model="rwkv"))
    with pytest.raises(ModelFileError, match=r"tokenizer\.ggml\.tokens: is empty"):
        Tokenizer.from_metadata(metadata([]))
    with pytest.raises(ModelFileError, match=r"tokenizer\.ggml\.tokens: is missing"):
        Tokenizer.from_metadata(Metadata({"tokenizer.ggml.model": "llama"}, "m.gguf"))


def test_without_scores_and_types_every_token_is_plain():
    values = {"tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": [b"?", b"a", b"b", b"ab"]}
    tokenizer = Tokenizer.from_metadata(Metadata(values, "m.gguf"))
    assert tokenizer.encode("ab", add_bos=False)[-1] == 3


def test_without_byte_tokens_a_stranger_is_the_unknown_token():
    tokenizer = Tokenizer.from_metadata(metadata([b"a", b"<unk>"], [1, 2], unknown_token_id=1))
    assert tokenizer.encode("a!a") == [0, 1, 0]
    assert tokenizer.decode([0, 1, 0]) == "aa"


def test_with_byte_tokens_a_stranger_is_its_bytes():
    tokenizer = Tokenizer.from_metadata(metadata([b"a", *BYTES], [1, *[6] * 256]))
    assert tokenizer.encode("a😀") == [0, *(1 + byte for byte in "😀".encode())]
    assert tokenizer.decode(tokenizer.encode("a😀")) == "a😀"


def test_of_equal_tokens_the_last_counts_and_empty_ones_match_nothing():
    tokenizer = Tokenizer.from_metadata(metadata([b"<unk>", b"a", b"", b"", b"a"], [2, 1, 1, 1, 1]))
    assert tokenizer.encode("aa") == [4, 4]
    assert [tokenizer.piece(token) for token in range(5)] == [b"", b"a", b"", b"", b"a"]


def test_plain_characters_never_merge_into_a_control_token():
    # llama.cpp merges "</" and "s>" here, and typed text ends the answer.
    tokens = [b"<unk>", b"</s>", b"<", b"/", b"s", b">", b"</", b"s>"]
    tokenizer = Tokenizer.from_metadata(metadata(tokens, [2, 3, *[1] * 6]))
    assert tokenizer.encode("</s>") == [6, 7]
    assert tokenizer.encode("</s>", parse_special=True) == [1]


def test_tokens_that_are_not_utf_8_are_harmless():
    tokenizer = Tokenizer.from_metadata(
        metadata([b"<unk>", b"\xff\xfe", b"\x80", b"a", b"\x00"], [2, 3, 4, 1, 1])
    )
    assert tokenizer.encode("a\ufffda", parse_special=True) == [3, 0, 3]
    assert tokenizer.decode([2, 3]) == "\ufffda"


def test_an_end_token_only_known_by_its_text_is_not_typed():
    tokenizer = Tokenizer.from_metadata(metadata([b"<unk>", b"x", b"<|im_end|>"], [2, 1, 4]))
    assert tokenizer.end_ids == {2}
    assert tokenizer.encode("<|im_end|>", parse_special=True) == [2]
    assert 2 not in tokenizer.encode("<|im_end|>")


TOKENS = st.one_of(
    st.binary(max_size=4),
    st.sampled_from([b"a", b"b", b"ab", b"<s>", b"</s>", b"<unreachable 1>", "▁".encode(), b" "]),
    st.sampled_from(BYTES[:3]),
)


@settings(deadline=None, derandomize=True, database=None, max_examples=600)
@given(
    st.sampled_from(["llama", "gpt2", "gemma4", "bert", "t5"]),
    st.lists(st.tuples(TOKENS, st.integers(-1, 7)), min_size=1, max_size=12),
    st.booleans(),
    st.lists(st.lists(TOKENS, max_size=3).map(b" ".join), max_size=6),
    st.text(max_size=20),
)
def test_any_vocabulary_of_consistent_sizes_works(model, entries, byte_tokens, merges, text):
    tokens = [token for token, _ in entries] + (BYTES if byte_tokens else [])
    types = [kind for _, kind in entries] + ([6] * 256 if byte_tokens else [])
    tokenizer = Tokenizer.from_metadata(metadata(tokens, types, model=model, merges=merges))
    for parse_special in (False, True):
        ids = tokenizer.encode(text + "ab</s>\0", parse_special=parse_special)
        assert all(0 <= token < tokenizer.vocab_size for token in ids)
        tokenizer.decode(ids)
    plain = tokenizer.encode(text + "ab</s>", add_bos=False)
    unknown = {tokenizer._vocabulary.unknown_id, 0}
    assert not (set(plain) & tokenizer._vocabulary.control_ids) - unknown
    assert all(isinstance(tokenizer.piece(token), bytes) for token in range(tokenizer.vocab_size))
