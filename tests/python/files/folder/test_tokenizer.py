"""The tokenizer's files of a folder, as `tokenizer.*` of a GGUF file."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.safetensors_builder import small_tokenizer, write_folder
from support.tiny_folders import LLAMA_CONFIG

from llm.errors import ModelFileError, UnsupportedModelError
from llm.files.metadata import Metadata
from llm.files.opening import open_model
from llm.text.tokenizer import Tokenizer

# by tests/golden/make_tokenizer_json.py
MADE = Path(__file__).parents[3] / "golden" / "tokenizer_json.json.gz"
LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
GPT_4O = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+"
)
BYTES = {"type": "ByteLevel", "use_regex": False}


def metadata_of(
    path: Path, tokenizer: Any, settings: Any = None, config: Any = None, **files: Any
) -> Metadata:
    """Of a folder with these files; `files` are further ones by name without `.json`."""
    folder = write_folder(
        path, LLAMA_CONFIG | (config or {}), {}, tokenizer=tokenizer, settings=settings or {"a": 1}
    )
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    with open_model(str(folder)) as file:
        return file.metadata


def byte_level(**changed: Any) -> dict[str, Any]:
    """A byte-level vocabulary with two merges, a hole, and added tokens."""
    vocab = {"a": 0, "b": 1, "Ġ": 2, "ab": 3, "Ġab": 5}
    model = {"type": "BPE", "vocab": vocab, "merges": ["a b", "Ġ ab"]}
    added = [
        {"id": 6, "content": "<|end|>", "special": True},
        {"id": 7, "content": "<tool>", "special": False},
    ]
    return {"model": model, "added_tokens": added, **changed}


def ids_of(metadata: Metadata) -> dict[str, int]:
    return {
        key.split(".")[-1].removesuffix("_token_id"): value
        for key, value in metadata.items()
        if key.endswith("_token_id")
    }


def test_byte_level(tmp_path: Path) -> None:
    found = metadata_of(tmp_path, byte_level(), config={"vocab_size": 10})
    assert found.str("tokenizer.ggml.model") == "gpt2"
    assert found.strings("tokenizer.ggml.merges") == [b"a b", "Ġ ab".encode()]
    assert found.strings("tokenizer.ggml.tokens") == [
        *(b"a", b"b", "Ġ".encode(), b"ab", b"[PAD4]", "Ġab".encode()),
        *(b"<|end|>", b"<tool>", b"[PAD8]", b"[PAD9]"),
    ]
    assert found.numbers("tokenizer.ggml.token_type").tolist() == [1, 1, 1, 1, 5, 1, 3, 4, 5, 5]
    assert "tokenizer.ggml.scores" not in found
    assert found.bool("tokenizer.ggml.add_bos_token") is False


def test_merges_as_pairs(tmp_path: Path) -> None:
    pairs = byte_level()
    pairs["model"]["merges"] = [["a", "b"], ["Ġ", "ab"]]
    found = metadata_of(tmp_path, pairs)
    assert found.strings("tokenizer.ggml.merges") == [b"a b", "Ġ ab".encode()]


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        pytest.param(
            [{"type": "Split", "pattern": {"Regex": LLAMA_3}}, BYTES], "smaug-bpe", id="3"
        ),
        pytest.param(
            [{"type": "Split", "pattern": {"Regex": LLAMA_3.replace("{1,3}", "")}}, BYTES],
            "qwen2",
            id="single digits",
        ),
        pytest.param(
            [{"type": "Split", "pattern": {"Regex": GPT_4O}}, BYTES], "gpt-4o", id="cases"
        ),
        pytest.param(
            [
                {"type": "Split", "pattern": {"Regex": r"\p{N}{1,3}"}},
                {"type": "Split", "pattern": {"Regex": "[一-龥]+"}},
                {"type": "Split", "pattern": {"Regex": r"[\p{L}\p{M}]+"}},
                BYTES,
            ],
            "deepseek-v3",
            id="numbers first",
        ),
        pytest.param(
            [
                {
                    "type": "Split",
                    "pattern": {
                        "Regex": LLAMA_3.replace("(?i:'s|'t|'re", "(?:'[sS]|'[tT]|'[rR][eE]")
                    },
                },
                BYTES,
            ],
            "smaug-bpe",
            id="both cases spelt out",
        ),
        pytest.param([{"type": "ByteLevel"}], "gpt-2", id="the byte level's own"),
        pytest.param(
            [{"type": "Digits", "individual_digits": True}, {"type": "ByteLevel"}],
            "smollm",
            id="digits before it",
        ),
        pytest.param(
            [{"type": "Split", "pattern": {"Regex": r"\w+"}}, BYTES], None, id="none of these"
        ),
        pytest.param([], None, id="nothing"),
    ],
)
def test_how_text_is_split(tmp_path: Path, parts: Any, name: str | None) -> None:
    splitter = {"type": "Sequence", "pretokenizers": parts}
    found = metadata_of(tmp_path, byte_level(pre_tokenizer=splitter))
    assert found.str("tokenizer.ggml.pre", None) == name


def test_whole_tokens_are_not_merged(tmp_path: Path) -> None:
    made = byte_level(pre_tokenizer={"type": "Split", "pattern": {"Regex": LLAMA_3}})
    made["model"]["ignore_merges"] = True
    assert metadata_of(tmp_path, made).str("tokenizer.ggml.pre") == "llama-bpe"


def test_word_pieces(tmp_path: Path) -> None:
    vocab = {"[UNK]": 0, "play": 1, "##ing": 2}
    made = {"model": {"type": "WordPiece", "vocab": vocab, "continuing_subword_prefix": "##"}}
    found = metadata_of(tmp_path, made, {"cls_token": "[UNK]"})
    assert found.str("tokenizer.ggml.model") == "bert"
    assert found.strings("tokenizer.ggml.tokens") == [b"[UNK]", "▁play".encode(), b"ing"]
    assert ids_of(found) == {"bos": 0}
    assert "tokenizer.ggml.normalizer.lowercase" not in found
    normalizer = {"type": "BertNormalizer", "lowercase": False, "strip_accents": None}
    found = metadata_of(tmp_path, made | {"normalizer": normalizer})
    assert found.bool("tokenizer.ggml.normalizer.lowercase") is False
    assert "tokenizer.ggml.normalizer.strip_accents" not in found


def test_unigram(tmp_path: Path) -> None:
    model = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["▁a", -1.5]]}
    normalizer = {"type": "Sequence", "normalizers": [{"precompiled_charsmap": "AAEC"}]}
    found = metadata_of(tmp_path, {"model": model, "normalizer": normalizer})
    assert found.str("tokenizer.ggml.model") == "t5"
    assert found.numbers("tokenizer.ggml.scores").tolist() == [0.0, -1.5]
    assert found.numbers("tokenizer.ggml.token_type").tolist() == [2, 1]
    assert found.numbers("tokenizer.ggml.precompiled_charsmap").tolist() == [0, 1, 2]


@pytest.mark.parametrize("made", json.loads(gzip.decompress(MADE.read_bytes())))
def test_scores_merge_as_the_merges_do(tmp_path: Path, made: dict[str, Any]) -> None:
    """Of a vocabulary with merges and bytes: the ids are those of the tokenizers package."""
    settings = {"bos_token": "<bos>", "eos_token": {"content": "<eos>"}, "add_bos_token": True}
    found = metadata_of(tmp_path, made["tokenizer"], settings)
    assert found.bool("tokenizer.ggml.add_space_prefix") is made["prepends"]
    tokenizer = Tokenizer.from_metadata(found)
    for text, ids in zip(made["texts"], made["ids"], strict=True):
        assert tokenizer.encode(text)[1:] == ids
    assert tokenizer.bos_id == 2


GEMMA_4 = {"model_type": "gemma4_text", "layer_types": ["sliding_attention"] * 3}


@pytest.mark.parametrize("made", json.loads(gzip.decompress(MADE.read_bytes()))[:1])
def test_the_merges_of_gemma_4(tmp_path: Path, made: dict[str, Any]) -> None:
    """By characters, in the order of the merges: the ids are those of the tokenizers package."""
    found = metadata_of(tmp_path, made["tokenizer"], {"bos_token": "<bos>"}, GEMMA_4)
    assert found.str("tokenizer.ggml.model") == "gemma4"
    tokenizer = Tokenizer.from_metadata(found)
    for text, ids in zip(made["texts"], made["ids"], strict=True):
        assert tokenizer.encode(text)[1:] == ids
    assert tokenizer.bos_id == 2


def test_what_gemma_4_says_of_its_thoughts_is_text(tmp_path: Path) -> None:
    made = byte_level()
    made["model"]["byte_fallback"] = True
    for id, text in ((6, "<|channel>"), (7, "<turn|>"), (8, '<|"|>')):
        made["added_tokens"][id - 6 :] = [{"id": id, "content": text, "special": True}]
    found = metadata_of(tmp_path, made, config=GEMMA_4)
    assert found.numbers("tokenizer.ggml.token_type")[6:9].tolist() == [4, 3, 4]


def delimited(field: int, content: bytes) -> bytes:
    """A field of a protobuf, with the length of its content before it."""
    size = len(content)
    length = bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])
    return bytes([field << 3 | 2]) + length + content


def test_a_sentencepiece_model(tmp_path: Path) -> None:
    pieces = [b"<unk>", b"<s>", b"</s>", b"<0x41>", "▁a".encode(), b"b", b"", b"x" * 300]
    types = [2, 3, 3, 6, 1, 4, 5, 1]
    scores = np.linspace(0, -7, 8, dtype=np.float32)
    folder = write_folder(tmp_path, LLAMA_CONFIG | {"vocab_size": 10}, {})
    parts = [
        delimited(1, delimited(1, piece) + b"\x15" + score.tobytes() + bytes([0x18, kind]))
        for piece, score, kind in zip(pieces, scores, types, strict=True)
    ]
    trainer, normalizer = b"\x18\x02", b"\x18\x00"  # BPE; no leading space
    model = b"".join([*parts, delimited(2, trainer), delimited(3, normalizer)])
    (folder / "tokenizer.model").write_bytes(model)
    decoder = {"5": {"content": "▁turn", "special": False}, "8": {"content": "<|x|>"}}
    settings = {"added_tokens_decoder": decoder, "chat_template": "{{ messages }}"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "tokenizer.json").write_text("is not needed")
    with open_model(str(folder)) as file:
        found = file.metadata
    assert found.str("tokenizer.ggml.model") == "llama"
    assert found.strings("tokenizer.ggml.tokens") == [
        *pieces[:5],
        b" turn",
        *pieces[6:],
        b"<|x|>",
        b"[PAD9]",
    ]
    assert found.numbers("tokenizer.ggml.token_type").tolist() == [2, 3, 3, 6, 1, 4, 5, 1, 3, 5]
    assert found.numbers("tokenizer.ggml.scores").tolist() == [*scores, -1000.0, -1000.0]
    assert found.bool("tokenizer.ggml.add_space_prefix") is False  # as that model says
    assert found.bool("tokenizer.ggml.add_bos_token") is True
    assert found.str("tokenizer.chat_template") == "{{ messages }}"
    for size in range(1, len(model)):
        (folder / "tokenizer.model").write_bytes(model[:size])
        try:
            open_model(str(folder)).close()
        except ModelFileError as error:
            assert str(folder / "tokenizer.model") in str(error)


def test_roles(tmp_path: Path) -> None:
    """By text where the tokenizer's settings have one, else by number; further ends by number."""
    config = {"bos_token_id": 3, "eos_token_id": [1, 2], "pad_token_id": 99}
    settings = {"eos_token": "<|end|>", "unk_token": None, "mask_token": "not there"}
    generation = {"eos_token_id": [6, 0, 1, 2]}
    found = metadata_of(tmp_path, byte_level(), settings, config, generation_config=generation)
    assert ids_of(found) == {"bos": 3, "eos": 6, "eot": 0, "eom": 1}


@pytest.mark.parametrize(
    ("settings", "single", "expected"),
    [
        pytest.param({}, ["<s>", "A"], (True, False), id="a template begins with one"),
        pytest.param({}, ["A", "</s>"], (False, True), id="a template ends with one"),
        pytest.param(
            {"add_bos_token": False, "add_eos_token": True},
            ["<s>", "A"],
            (False, True),
            id="settings say otherwise",
        ),
    ],
)
def test_tokens_around_a_text(
    tmp_path: Path, settings: Any, single: list[str], expected: tuple[bool, bool]
) -> None:
    items = [
        {"Sequence": {"id": "A"}} if name == "A" else {"SpecialToken": {"id": name}}
        for name in single
    ]
    processors = [{"type": "ByteLevel"}, {"type": "TemplateProcessing", "single": items}]
    made = byte_level(post_processor={"type": "Sequence", "processors": processors})
    found = metadata_of(tmp_path, made, settings)
    keys = ("tokenizer.ggml.add_bos_token", "tokenizer.ggml.add_eos_token")
    assert tuple(map(found.bool, keys)) == expected


def test_templates(tmp_path: Path) -> None:
    older = {"chat_template": "x"}  # of models of several senses
    found = metadata_of(tmp_path, byte_level(), chat_template=older)
    assert found.str("tokenizer.chat_template") == "x"
    several = [{"name": "rag", "template": "x"}, {"name": "default", "template": "y"}]
    found = metadata_of(tmp_path, byte_level(), {"chat_template": several})
    assert found.str("tokenizer.chat_template") == "y"
    (tmp_path / "chat_template.jinja").write_text("ü {{ z }}", encoding="utf-8")
    found = metadata_of(tmp_path, byte_level(), {"chat_template": several})
    assert found.str("tokenizer.chat_template") == "ü {{ z }}"


@pytest.mark.parametrize(
    ("model", "message"),
    [
        pytest.param(None, "model: is no object", id="none"),
        pytest.param({"type": "BPE"}, "model.vocab: is no object of tokens and ids", id="no vocab"),
        pytest.param(
            {"type": "BPE", "vocab": {"a": -1}},
            "model.vocab: has an id outside 0 to 1,048,575",
            id="below 0",
        ),
        pytest.param(
            {"type": "BPE", "vocab": {"a": 2**40}},
            "model.vocab: has an id outside 0 to 1,048,575",
            id="beyond all vocabularies",
        ),
        pytest.param(
            {"type": "BPE", "vocab": {"a": 0}}, "model.merges: is no list", id="no merges"
        ),
        pytest.param(
            {"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "b", "c"]]},
            "model.merges: has an entry that is not two tokens",
            id="three",
        ),
        pytest.param(
            {"type": "BPE", "vocab": {"a": 0}, "merges": [["a", 1]]},
            "model.merges: has an entry that is not two tokens",
            id="a number",
        ),
        pytest.param(
            {"type": "Unigram", "vocab": [["a"]]},
            "model.vocab: has a piece that is not text and score",
            id="no score",
        ),
    ],
)
def test_a_tokenizer_that_cannot_be(tmp_path: Path, model: Any, message: str) -> None:
    with pytest.raises(ModelFileError) as caught:
        metadata_of(tmp_path, {"model": model})
    assert str(caught.value) == f"{tmp_path}/tokenizer.json: {message}"


def test_another_kind_of_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModelError, match="is 'WordLevel'; this build runs"):
        metadata_of(tmp_path, {"model": {"type": "WordLevel", "vocab": {"a": 0}}})


def test_no_tokenizer(tmp_path: Path) -> None:
    write_folder(tmp_path, LLAMA_CONFIG, {})
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(ModelFileError, match=r"tokenizer\.json: file: does not exist"):
        open_model(str(tmp_path))


def test_an_added_token_without_a_place(tmp_path: Path) -> None:
    made = small_tokenizer()
    made["added_tokens"] = [{"id": 2**31, "content": "x"}]
    with pytest.raises(ModelFileError, match="added_tokens: has an entry without a content"):
        metadata_of(tmp_path, made)
