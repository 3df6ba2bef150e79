"""Writes tokenizer_json.json.gz: tokenizers of merges and bytes, and the ids that they give texts.

The package tokenizers trains them on prose.txt; it is needed for this alone:

    pip install tokenizers==0.23.3
"""

import gzip
import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models, normalizers, trainers

HERE = Path(__file__).parent
MORE = ("Ünïcode 🦊 and\ttabs", "  two  spaces ", "x" * 99, "你好")


def trained(prose: str, *, prepends: bool) -> dict[str, Any]:
    special = ["<pad>", "<eos>", "<bos>", "<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    made = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    steps = [normalizers.Prepend("▁")] if prepends else []
    made.normalizer = normalizers.Sequence([*steps, normalizers.Replace(" ", "▁")])
    trainer = trainers.BpeTrainer(vocab_size=900, special_tokens=special, show_progress=False)
    made.train_from_iterator(prose.splitlines(), trainer)
    described: dict[str, Any] = json.loads(made.to_str())
    described["added_tokens"] = described["added_tokens"][:4]  # bytes are no added tokens
    return described


def main() -> None:
    prose = (HERE / "prose.txt").read_text(encoding="utf-8")
    texts = [text for text in (*prose.splitlines()[:40], *MORE) if text]
    found = []
    for prepends in (False, True):
        described = trained(prose, prepends=prepends)
        reference = Tokenizer.from_str(json.dumps(described))
        ids = [reference.encode(text, add_special_tokens=False).ids for text in texts]
        found.append({"prepends": prepends, "tokenizer": described, "texts": texts, "ids": ids})
    written = json.dumps(found, ensure_ascii=False).encode()
    (HERE / "tokenizer_json.json.gz").write_bytes(gzip.compress(written, mtime=0))


if __name__ == "__main__":
    main()
