"""Writes what llama.cpp makes of many texts: tokenizer_*.json, which the tests read.

    make_tokenizer_fixtures.py MODEL [--compare COUNT]

MODEL is the default model; the small vocabularies are built on the spot. With --compare nothing is
written: COUNT random texts are tokenized by llama.cpp and by us, and each difference is printed.
llama.cpp comes as xllamacpp, whose server answers /tokenize.
"""

# ruff: noqa: E402  (a script beside the packages that it imports finds them itself)

import argparse
import hashlib
import json
import random
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]

import xllamacpp
from golden.tokenizer_strings import REPEATED, STRINGS
from support.small_vocabulary import small_texts, small_vocabulary_file

from llm.files.gguf import GgufFile
from llm.text.tokenizer import Tokenizer

# What differs between the small files: seed, general.name and `tokenizer.ggml.` settings.
SMALL_FILES: dict[str, dict[str, Any]] = {
    "space_prefix": {"seed": 3, "add_space_prefix": True, "add_bos_token": True},
    "no_space_prefix": {"seed": 4, "add_space_prefix": False, "add_bos_token": False},
    "phi_3": {"seed": 5, "name": "Phi-3 small"},
}
SMALL_TEXTS = 120


class Reference:
    """llama.cpp with a model file open."""

    def __init__(self, path: str) -> None:
        params = xllamacpp.CommonParams()
        params.model.path = path
        params.n_ctx = 64
        params.warmup = False
        self._server = xllamacpp.Server(params)

    def tokenize(self, text: str, *, parse_special: bool) -> list[int]:
        question = {"content": text, "add_special": True, "parse_special": parse_special}
        request = urllib.request.Request(
            f"{self._server.listening_address}/tokenize",
            json.dumps(question).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:
            ids: list[int] = json.load(answer)["tokens"]
        return ids

    def row(self, text: str) -> dict[str, Any]:
        """The ids with control tokens left as text and, where they differ, with them parsed."""
        plain = self.tokenize(text, parse_special=False)
        parsed = self.tokenize(text, parse_special=True)
        return {"text": text, "plain": plain} | ({} if parsed == plain else {"parsed": parsed})


def digest(ids: list[int]) -> str:
    return hashlib.sha256(",".join(map(str, ids)).encode()).hexdigest()


def default_model_fixture(path: str) -> dict[str, Any]:
    reference = Reference(path)
    rows = [
        {"kind": kind} | reference.row(text) for kind, texts in STRINGS.items() for text in texts
    ]
    repeated = []
    for text, times in REPEATED:
        ids = reference.tokenize(text * times, parse_special=True)
        repeated.append({"text": text, "times": times, "count": len(ids), "sha256": digest(ids)})
    return {"rows": rows, "repeated": repeated}


def small_fixture(options: dict[str, Any], folder: str) -> dict[str, Any]:
    path = small_vocabulary_file(**options).write(Path(folder) / "small.gguf")
    reference = Reference(path)
    texts = ["", " ", "a", *small_texts(options["seed"], SMALL_TEXTS)]
    return {"file": options, "rows": [reference.row(text) for text in texts]}


def write(name: str, fixture: dict[str, Any]) -> None:
    """One row a line, so that a change of one row is a change of one line."""
    head = {"source": f"llama.cpp in xllamacpp {xllamacpp.__version__}"}
    lists = {key: value for key, value in fixture.items() if isinstance(value, list)}
    head |= {key: value for key, value in fixture.items() if key not in lists}
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    for key, rows in lists.items():
        body = ",\n".join(f"  {json.dumps(row)}" for row in rows)
        lines.append(f" {json.dumps(key)}: [\n{body}\n ]")
    path = HERE / f"tokenizer_{name}.json"
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{path.name}: {sum(map(len, lists.values()))} rows")


def random_text(chance: random.Random) -> str:
    """Runs of characters from the stored texts and from all of Unicode."""
    stored = [text for texts in STRINGS.values() for text in texts if text]
    parts = []
    for _ in range(chance.randrange(1, 12)):
        text = chance.choice(stored)
        start = chance.randrange(len(text))
        parts.append(text[start : start + chance.randrange(1, 20)])
        parts.append(chance.choice(["", "", " ", "\n", chr(chance.randrange(1, 0xD800))]))
    return "".join(parts)


def compare(path: str, texts: list[str]) -> int:
    reference = Reference(path)
    with GgufFile.open(path) as file:
        tokenizer = Tokenizer.from_metadata(file.metadata)
    differences = 0
    for text in texts:
        for parse_special in (False, True):
            theirs = reference.tokenize(text, parse_special=parse_special)
            ours = tokenizer.encode(text, parse_special=parse_special)
            if ours != theirs:
                differences += 1
                print(f"{text!a} parse_special={parse_special}\n  {theirs}\n  {ours}")
    print(f"{Path(path).name}: {len(texts)} texts, {differences} differences")
    return differences


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--compare", type=int, metavar="COUNT")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.compare:
            chance = random.Random(options.compare)
            texts = [random_text(chance) for _ in range(options.compare)]
            differences = compare(options.model, texts)
            for small in SMALL_FILES.values():
                path = small_vocabulary_file(**small).write(Path(folder) / "small.gguf")
                differences += compare(path, small_texts(options.compare, options.compare))
            return 1 if differences else 0
        write("gemma3", default_model_fixture(options.model))
        for name, small in SMALL_FILES.items():
            write(name, small_fixture(small, folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
