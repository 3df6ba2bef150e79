"""Model files of random but fixed weights, small enough to be written by every test module."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type
from support.weight_blocks import put_scales

VOCABULARY = 300

Shapes = Mapping[str, tuple[int, ...]]

RANDOM_SCALES = {  # of a block: some d, and a minimum where there is one; for weights of some 0.06
    Type.Q4_0: (0.01,),
    Type.Q4_1: (0.01, -0.08),
    Type.Q5_0: (0.01,),
    Type.Q5_1: (0.005, -0.08),
    Type.Q8_0: (0.001,),
    Type.Q2_K: (0.004, 0.006),
    Type.Q3_K: (0.0008,),
    Type.Q4_K: (0.0002, 0.0015),
    Type.Q5_K: (0.0001, 0.0015),
    Type.Q6_K: (0.00005,),
    Type.IQ4_NL: (0.0008,),
    Type.IQ4_XS: (0.00004,),
    Type.IQ2_XXS: (0.001,),
    Type.IQ2_XS: (0.001,),
    Type.IQ2_S: (0.001,),
    Type.IQ3_XXS: (0.0004,),
    Type.IQ3_S: (0.0004,),
    Type.IQ1_S: (0.008,),
    Type.IQ1_M: (0.008,),
    Type.TQ1_0: (0.06,),
    Type.TQ2_0: (0.06,),
    Type.MXFP4: (0.01,),
}


def write_random_model(
    path: Path,
    architecture: str,
    metadata: Mapping[str, Any],
    shapes: Shapes,
    formats: Mapping[str, Type],
    *,
    vocabulary: int = VOCABULARY,
    word_pieces: bool = False,
    without: tuple[str, ...] = (),
    replaced: Mapping[str, np.ndarray] | None = None,
) -> Path:
    """Writes the model: vectors in float32, matrices in the format of their kind ("attn_q").

    Norms are around 1, biases around 0. Texts become tokens by merging, or by `word_pieces`.

    Numbers, texts and lists of `metadata` go under their keys, None leaves one out; `without` names
    tensors to leave out; `replaced` gives float32 tensors of another content, also further ones.
    """
    writer = gguf.GGUFWriter(path, architecture)
    for key, value in metadata.items():
        if isinstance(value, bool):
            writer.add_bool(key, value)
        elif isinstance(value, int):
            writer.add_uint32(key, value)
        elif isinstance(value, float):
            writer.add_float32(key, value)
        elif isinstance(value, list):
            writer.add_array(key, value)
        elif value is not None:
            writer.add_string(key, value)
    add_vocabulary = _add_word_pieces if word_pieces else _add_vocabulary
    add_vocabulary(writer, vocabulary)
    source = np.random.default_rng(7)
    others = dict(replaced or {})
    for name, shape in shapes.items():
        if name in without:
            continue
        if name in others:
            writer.add_tensor(name, others.pop(name).astype(np.float32))
        elif name.endswith(".bias"):
            writer.add_tensor(name, source.normal(0.0, 0.3, shape).astype(np.float32))
        elif len(shape) == 1:
            writer.add_tensor(name, source.uniform(0.5, 1.5, shape).astype(np.float32))
        else:
            kind = formats[name.split(".")[-2]]
            writer.add_tensor(name, random_matrix(source, shape, kind), raw_dtype=kind)
    for name, values in others.items():
        writer.add_tensor(name, values.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def random_matrix(source: np.random.Generator, shape: tuple[int, ...], kind: Type) -> np.ndarray:
    """Random values; for block formats random bytes with small scales, as no quantiser makes."""
    if kind in (Type.F32, Type.F16, Type.BF16):
        values = source.normal(0.0, 0.06, shape)
        if kind is Type.BF16:
            return gguf.quantize(values.astype(np.float32), kind)
        return values.astype(np.float32 if kind is Type.F32 else np.float16)
    values, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = source.integers(0, 256, (math.prod(shape) // values, size), dtype=np.uint8)
    if kind is Type.NVFP4:
        blocks[:, :4] = 8 | blocks[:, :4] & 7  # 2^-7 to 2^-6
    scales = RANDOM_SCALES.get(kind, ())
    put_scales(
        kind.name.lower(),
        blocks,
        lambda number: (scales[number] * source.uniform(0.5, 1.5, len(blocks))).astype(np.float16),
    )
    return blocks.reshape(*shape[:-1], -1)


def _add_vocabulary(writer: gguf.GGUFWriter, count: int) -> None:
    tokens = ["<pad>", "<eos>", "<bos>", "<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    types = [3, 3, 3, 2, *[6] * 256]
    tokens += [f"t{number}" for number in range(count - len(tokens))]
    types += [1] * (count - len(types))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([-float(number) for number in range(count)])
    writer.add_token_types(types)
    writer.add_bos_token_id(2)
    writer.add_eos_token_id(1)
    writer.add_unk_token_id(3)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)


def _add_word_pieces(writer: gguf.GGUFWriter, count: int) -> None:
    """Letters, at the beginning of a word and within it, and some endings."""
    named = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = "abcdefghijklmnopqrstuvwxyz.,?"
    tokens = [*named, *(f"▁{letter}" for letter in letters), *letters, "ing", "▁the", "▁inn"]
    types = [3] * len(named) + [1] * (count - len(named))
    tokens += [f"▁t{number}" for number in range(count - len(tokens))]
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_pad_token_id(0)
    writer.add_unk_token_id(1)
    writer.add_bos_token_id(2)
    writer.add_eos_token_id(3)
    writer.add_sep_token_id(3)
    writer.add_mask_token_id(4)
