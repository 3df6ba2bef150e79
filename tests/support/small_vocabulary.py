"""Small vocabularies that merge by score, and model files that hold them and hardly anything else.

The pieces are a seeded draw from all short strings over four letters, with few distinct scores,
so that merges compete, tie and run into dead ends far more often than in a trained vocabulary.
"""

import random
from itertools import product

import numpy as np
from support.gguf_builder import GgufBuilder

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6

_NAMED = {
    "<unk>": UNKNOWN,
    "<s>": CONTROL,
    "</s>": CONTROL,
    "<|user|>": CONTROL,
    "<|end|>": NORMAL,  # a known end marker that the file forgot to mark
    "<|endoftext|>": CONTROL,
    "[tool]": USER_DEFINED,
    "[tool]b": USER_DEFINED,
    "ca[to": USER_DEFINED,  # overlaps the others
    "▁▁c": USER_DEFINED,
    "\n\n": USER_DEFINED,
}


def small_vocabulary(seed: int) -> tuple[list[str], list[float], list[int]]:
    """Tokens, scores and types: special tokens, 256 byte tokens, then pieces over "abc▁"."""
    chance = random.Random(seed)
    pieces = ["".join(letters) for size in (1, 2, 3, 4) for letters in product("abc▁", repeat=size)]
    drawn = [piece for piece in pieces if len(piece) == 1 or chance.random() < 0.55]
    drawn = [piece for piece in drawn if piece not in _NAMED]
    bytes_ = [f"<0x{value:02X}>" for value in range(256)]
    tokens = [*_NAMED, *bytes_, *drawn]
    scores = [0.0] * (len(tokens) - len(drawn))
    scores += [float(-chance.randrange(40)) for _ in drawn]
    types = [*_NAMED.values(), *[BYTE] * 256]
    types += [UNUSED if chance.random() < 0.05 else NORMAL for _ in drawn]
    return tokens, scores, types


def small_vocabulary_file(seed: int, *, name: str = "small", **settings: bool) -> GgufBuilder:
    """A llama model of one empty layer, for llama.cpp; `settings` are `tokenizer.ggml.` keys."""
    tokens, scores, types = small_vocabulary(seed)
    width = 32
    builder = GgufBuilder()
    builder.add("general.architecture", "llama").add("general.name", name)
    for key, value in {
        "context_length": 64,
        "embedding_length": width,
        "block_count": 1,
        "feed_forward_length": width,
        "attention.head_count": 1,
        "attention.layer_norm_rms_epsilon": 1e-5,
    }.items():
        builder.add(f"llama.{key}", value)
    builder.add("tokenizer.ggml.model", "llama")
    builder.add("tokenizer.ggml.tokens", tokens)
    builder.add("tokenizer.ggml.scores", np.array(scores, np.float32))
    builder.add("tokenizer.ggml.token_type", np.array(types, np.int32))
    for key, token in {"bos": 1, "eos": 2, "unknown": 0}.items():
        builder.add(f"tokenizer.ggml.{key}_token_id", token)
    for key, setting in settings.items():
        builder.add(f"tokenizer.ggml.{key}", setting)
    matrices = ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"]
    shapes = {"token_embd": (len(tokens), width), "output_norm": (width,)}
    shapes |= {f"blk.0.{matrix}": (width, width) for matrix in matrices}
    shapes |= {f"blk.0.{norm}": (width,) for norm in ("attn_norm", "ffn_norm")}
    for tensor, shape in shapes.items():
        builder.tensor(f"{tensor}.weight", shape, "f32", np.zeros(shape, np.float32))
    return builder


def small_texts(seed: int, count: int) -> list[str]:
    """Texts over the letters, spaces, special tokens and strangers of `small_vocabulary`."""
    chance = random.Random(seed)
    letters = ["a", "b", "c", " ", "▁"]
    others = [*_NAMED, "\n", "é", "😀", "[to", "ol]", "<|", "s>", "ca[tool]b", "<0x41>", "\t"]
    return [
        "".join(
            chance.choice(letters if chance.random() < 0.85 else others)
            for _ in range(chance.randrange(1, 40))
        )
        for _ in range(count)
    ]
