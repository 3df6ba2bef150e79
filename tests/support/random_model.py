"""Model files of random but fixed weights, small enough to be written by every test module."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

VOCABULARY = 300

Shapes = Mapping[str, tuple[int, ...]]

RANDOM_SCALES = {  # format -> (bytes of its float16 scales, their value)
    Type.Q4_K: ((0, 2), 0.002),
    Type.Q5_0: ((0,), 0.01),
    Type.Q6_K: ((208,), 0.0005),
    Type.Q4_0: ((0,), 0.01),
    Type.Q8_0: ((0,), 0.001),
}


def write_random_model(
    path: Path,
    architecture: str,
    metadata: Mapping[str, Any],
    shapes: Shapes,
    formats: Mapping[str, Type],
    *,
    vocabulary: int = VOCABULARY,
    without: tuple[str, ...] = (),
    replaced: Mapping[str, np.ndarray] | None = None,
) -> Path:
    """Writes the model: vectors in float32, matrices in the format of their kind ("attn_q").

    Numbers, texts and lists of `metadata` go under their keys, None leaves one out; `without` names
    tensors to leave out; `replaced` gives float32 tensors of another content, also further ones.
    """
    writer = gguf.GGUFWriter(path, architecture)
    for key, value in metadata.items():
        if isinstance(value, int):
            writer.add_uint32(key, value)
        elif isinstance(value, float):
            writer.add_float32(key, value)
        elif isinstance(value, list):
            writer.add_array(key, value)
        elif value is not None:
            writer.add_string(key, value)
    _add_vocabulary(writer, vocabulary)
    source = np.random.default_rng(7)
    others = dict(replaced or {})
    for name, shape in shapes.items():
        if name in without:
            continue
        if name in others:
            writer.add_tensor(name, others.pop(name).astype(np.float32))
        elif len(shape) == 1:
            writer.add_tensor(name, source.uniform(0.5, 1.5, shape).astype(np.float32))
        else:
            kind = formats[name.split(".")[-2]]
            writer.add_tensor(name, _matrix(source, shape, kind), raw_dtype=kind)
    for name, values in others.items():
        writer.add_tensor(name, values.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


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
