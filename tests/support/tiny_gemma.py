"""A Gemma 3 model of a few thousand weights, random but fixed, in every block format we run.

Its window is shorter than the prompts of the tests, its head count, widths and vocabulary divide
no tile, and the sixth layer sees everything.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

LAYERS = 8
WIDTH = 256  # the shortest row that every block format can store
FEED_FORWARD = 512
HEADS, KV_HEADS, HEAD_SIZE = 6, 2, 64
WINDOW = 5
PATTERN = 6
VOCABULARY = 300
CONTEXT = 96

MIXED = {
    "token_embd": Type.Q8_0,
    "attn_q": Type.F16,
    "attn_k": Type.Q5_0,
    "attn_v": Type.Q6_K,
    "attn_output": Type.F32,
    "ffn_gate": Type.Q4_K,
    "ffn_up": Type.Q5_0,
    "ffn_down": Type.Q6_K,
}
RANDOM_SCALES = {  # format -> (bytes of its float16 scales, their value)
    Type.Q4_K: ((0, 2), 0.002),
    Type.Q5_0: ((0,), 0.01),
    Type.Q6_K: ((208,), 0.0005),
    Type.Q4_0: ((0,), 0.01),
    Type.Q8_0: ((0,), 0.001),
}


def write_tiny_gemma(
    path: Path,
    *,
    formats: Mapping[str, Type] = MIXED,
    feed_forward: int = FEED_FORWARD,
    metadata: Mapping[str, Any] | None = None,
    without: tuple[str, ...] = (),
    replaced: Mapping[str, np.ndarray] | None = None,
) -> Path:
    """Writes the model. `metadata` overrides integer keys (None leaves a key out), `without` names
    tensors to leave out, `replaced` gives float32 tensors of another content."""
    writer = gguf.GGUFWriter(path, "gemma3")
    keys: dict[str, Any] = {
        "gemma3.block_count": LAYERS,
        "gemma3.context_length": CONTEXT,
        "gemma3.embedding_length": WIDTH,
        "gemma3.feed_forward_length": feed_forward,
        "gemma3.attention.head_count": HEADS,
        "gemma3.attention.head_count_kv": KV_HEADS,
        "gemma3.attention.key_length": HEAD_SIZE,
        "gemma3.attention.value_length": HEAD_SIZE,
        "gemma3.attention.sliding_window": WINDOW,
        "gemma3.attention.sliding_window_pattern": PATTERN,
        **(metadata or {}),
    }
    for key, value in keys.items():
        if value is not None:
            writer.add_uint32(key, value)
    writer.add_float32("gemma3.attention.layer_norm_rms_epsilon", 1e-6)
    writer.add_float32("gemma3.rope.freq_base", 1e6)
    _add_vocabulary(writer)
    source = np.random.default_rng(7)
    for name, shape in _shapes(feed_forward).items():
        if name in without:
            continue
        if replaced and name in replaced:
            writer.add_tensor(name, replaced[name].astype(np.float32))
        elif len(shape) == 1:
            writer.add_tensor(name, source.uniform(0.5, 1.5, shape).astype(np.float32))
        else:
            kind = formats[name.split(".")[-2]]
            writer.add_tensor(name, _matrix(source, shape, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _shapes(feed_forward: int) -> dict[str, tuple[int, ...]]:
    queries, keys = HEADS * HEAD_SIZE, KV_HEADS * HEAD_SIZE
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (VOCABULARY, WIDTH),
        "output_norm.weight": (WIDTH,),
    }
    for layer in range(LAYERS):
        block: dict[str, tuple[int, ...]] = {
            "attn_norm": (WIDTH,),
            "attn_q": (queries, WIDTH),
            "attn_k": (keys, WIDTH),
            "attn_v": (keys, WIDTH),
            "attn_q_norm": (HEAD_SIZE,),
            "attn_k_norm": (HEAD_SIZE,),
            "attn_output": (WIDTH, queries),
            "post_attention_norm": (WIDTH,),
            "ffn_norm": (WIDTH,),
            "ffn_gate": (feed_forward, WIDTH),
            "ffn_up": (feed_forward, WIDTH),
            "ffn_down": (WIDTH, feed_forward),
            "post_ffw_norm": (WIDTH,),
        }
        shapes |= {f"blk.{layer}.{name}.weight": shape for name, shape in block.items()}
    return shapes


def _matrix(source: np.random.Generator, shape: tuple[int, ...], kind: Type) -> np.ndarray:
    """Random values; for block formats random bytes with small scales, as no quantiser makes."""
    if kind in (Type.F32, Type.F16):
        values = source.normal(0.0, 0.06, shape)
        return values.astype(np.float32 if kind is Type.F32 else np.float16)
    values, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = source.integers(0, 256, (shape[0] * shape[1] // values, size), dtype=np.uint8)
    places, scale = RANDOM_SCALES[kind]
    for place in places:
        blocks[:, place : place + 2] = np.frombuffer(np.float16(scale).tobytes(), np.uint8)
    return blocks.reshape(shape[0], -1)


def _add_vocabulary(writer: gguf.GGUFWriter) -> None:
    tokens = ["<pad>", "<eos>", "<bos>", "<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    types = [3, 3, 3, 2, *[6] * 256]
    tokens += [f"t{number}" for number in range(VOCABULARY - len(tokens))]
    types += [1] * (VOCABULARY - len(types))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([-float(number) for number in range(VOCABULARY)])
    writer.add_token_types(types)
    writer.add_bos_token_id(2)
    writer.add_eos_token_id(1)
    writer.add_unk_token_id(3)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
