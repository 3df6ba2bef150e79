"""A small vocabulary of byte pair encoding, learnt from a text, and a plain way to apply it.

Its merges are those that converters make of a SentencePiece model: all ways to make each token of
two others, in the order of the tokens.
"""

from collections import Counter
from itertools import pairwise
from typing import Any

SPECIAL = ("<pad>", "<eos>", "<bos>", "<unk>")
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))


class SmallBpe:
    def __init__(self, lines: list[str], tokens: int) -> None:
        """Learns `tokens` merges of what stands side by side most often."""
        texts = [list(line.replace(" ", "▁")) for line in lines]
        letters = sorted({letter for text in texts for letter in text})
        learnt: list[str] = []
        for _ in range(tokens):
            pairs = Counter(pair for text in texts for pair in pairwise(text))
            best = min(pairs, key=lambda pair: (-pairs[pair], pair))
            texts = [_joined(text, best) for text in texts]
            learnt.append("".join(best))
        learnt = list(dict.fromkeys(learnt))
        self.vocab = {token: id for id, token in enumerate([*SPECIAL, *BYTES, *learnt, *letters])}
        self.merges = [
            (token[:cut], token[cut:])
            for token in learnt
            for cut in range(1, len(token))
            if token[:cut] in self.vocab and token[cut:] in self.vocab
        ]
        self._ranks = {merge: rank for rank, merge in reversed(list(enumerate(self.merges)))}

    def tokenizer_json(self, normalizer: Any) -> dict[str, Any]:
        added = [{"id": self.vocab[text], "content": text, "special": True} for text in SPECIAL]
        model = {
            "type": "BPE",
            "byte_fallback": True,
            "unk_token": "<unk>",
            "vocab": self.vocab,
            "merges": [list(merge) for merge in self.merges],
        }
        return {"model": model, "added_tokens": added, "normalizer": normalizer}

    def encode(self, text: str) -> list[int]:
        """Ids, without any leading space that `text` has not."""
        parts: list[str] = []
        for letter in text.replace(" ", "▁"):
            known = letter in self.vocab
            parts += [letter] if known else [f"<0x{byte:02X}>" for byte in letter.encode()]
        while found := [pair for pair in pairwise(parts) if pair in self._ranks]:
            best = min(found, key=self._ranks.__getitem__)
            place = next(n for n, pair in enumerate(pairwise(parts)) if pair == best)
            parts[place : place + 2] = ["".join(best)]
        return [self.vocab[part] for part in parts]


def _joined(text: list[str], pair: tuple[str, str]) -> list[str]:
    joined: list[str] = []
    for part in text:
        if joined and (joined[-1], part) == pair:
            joined[-1] += part
        else:
            joined.append(part)
    return joined
