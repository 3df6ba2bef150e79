"""Folders of families that need more than names, damaged many times: each opens and is read, or
raises LLMError."""

import random
from collections import Counter
from pathlib import Path

import pytest
from support.stored_folders import described, write_stored_folder

from llm.errors import LLMError
from llm.files.folder.folder import HuggingFaceFolder

CASES = described()


@pytest.mark.parametrize(
    "case",
    [
        "gemma3_text, embedding",
        "gemma4_text",
        "gpt_oss",
        "gpt_oss, MXFP4",
        "granitemoeshared",
        "lfm2",
        "mistral3, Ministral",
        "qwen3_5_text",
    ],
)
def test_random_damage(tmp_path: Path, case: str) -> None:
    folder = write_stored_folder(tmp_path, CASES[case])
    outcomes: Counter[str] = Counter()
    chance = random.Random(0)
    for path in (folder / "config.json", folder / "model.safetensors"):
        whole = path.read_bytes()
        for _ in range(40):
            damaged = bytearray(whole)
            for _ in range(chance.choice([1, 1, 2, 8])):
                damaged[chance.randrange(min(len(whole), 3000))] = chance.choice(b'0129{}[]",:-eE')
            path.write_bytes(damaged)
            try:
                with HuggingFaceFolder.open(str(folder)) as file:
                    for name in file.tensors:
                        file.data(name)
                outcomes["opened"] += 1
            except LLMError as error:
                assert str(folder) in str(error)
                outcomes["refused"] += 1
        path.write_bytes(whole)
    assert outcomes["refused"] > 20
    assert outcomes["opened"] > 5
