"""Model files of a shape with random weights: to time an engine, not to talk to.

The quantised weights are random bytes with scales that keep them small; the vocabulary is a dummy
of the right size. The layout is that of the GGUF specification, version 3.
"""

import random
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from gpu_bench.shapes import Shape
from llm.files.formats import FORMATS_BY_NAME
from setup.report import SetupError, say

ALIGNMENT = 32
SPARE_BYTES = 1 << 30  # that a disk must have left
CHUNK_BLOCKS = 65536  # random blocks that a larger tensor repeats
CHUNK_FLOATS = 65521  # random floats; a prime, so that no two rows of a router are alike

U32, I32, F32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
# Where a block's float16 scales stand, and their values: weights of about 0.1.
_SCALES = {
    "q4_k": {0: 0.0006, 2: 0.004},
    "q6_k": {208: 0.00002},
    "q8_0": {0: 0.0004},
    "q5_0": {0: 0.003},
}
_EXPONENTS = {"mxfp4": 121}  # of a block's scale, its first byte: of 2^(e - 128)
_FLOATS = {"f32": struct.pack("<f", 1.0), "f16": struct.pack("<e", 0.02)}  # each all alike


def ensure(path: Path, shape: Shape) -> None:
    """Writes the file where it is missing. Raises SetupError where the disk has no room."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    size = sum(_size(sizes, name) for _, sizes, name in shape.tensors())
    free = shutil.disk_usage(path.parent).free
    if free < size + SPARE_BYTES:
        raise SetupError(
            f"{path.name} takes {size / 1e9:.1f} GB, but {path.parent} has {free / 1e9:.1f} GB "
            "left: name a folder on another disk with --models"
        )
    say(f"writing {path} ({size / 1e9:.1f} GB)")
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as file:
        write(file, shape)
    partial.replace(path)


def write(file: BinaryIO, shape: Shape) -> None:
    """Writes the whole model."""
    tensors = list(shape.tensors())
    pairs = list(_pairs(shape))
    file.write(struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(pairs)))
    for key, kind, value in pairs:
        file.write(_text(key) + struct.pack("<I", kind) + value)
    offset = 0
    for name, sizes, format_name in tensors:
        file.write(_text(name) + struct.pack("<I", len(sizes)))
        file.write(struct.pack(f"<{len(sizes)}Q", *reversed(sizes)))
        file.write(struct.pack("<IQ", FORMATS_BY_NAME[format_name].id, offset))
        offset += _padded(_size(sizes, format_name))
    file.write(bytes(-file.tell() % ALIGNMENT))
    chunks = {name: _random_blocks(name) for name in (*_SCALES, *_EXPONENTS)}
    chunks |= {name: value * CHUNK_BLOCKS for name, value in _FLOATS.items()}
    chunks["f32"] = _random_floats()
    ones = struct.pack("<f", 1.0) * max(sizes[0] for _, sizes, _ in tensors if len(sizes) == 1)
    for _, sizes, format_name in tensors:
        size = _size(sizes, format_name)
        chunk = memoryview(ones if len(sizes) == 1 else chunks[format_name])
        for start in range(0, size, len(chunk)):
            file.write(chunk[: size - start])
        file.write(bytes(-size % ALIGNMENT))


def _pairs(shape: Shape) -> Iterator[tuple[str, int, bytes]]:
    """Key, kind of value, and the value's bytes."""
    architecture = shape.architecture
    yield "general.architecture", STRING, _text(architecture)
    yield "general.name", STRING, _text(shape.name)
    for key, value in shape.metadata().items():
        if isinstance(value, list):
            kind, code = (BOOL, "?") if isinstance(value[0], bool) else (U32, "I")
            data = struct.pack(f"<IQ{len(value)}{code}", kind, len(value), *value)
            yield f"{architecture}.{key}", ARRAY, data
        else:
            kind, code = (F32, "f") if isinstance(value, float) else (U32, "I")
            yield f"{architecture}.{key}", kind, struct.pack(f"<{code}", value)
    yield from _vocabulary(shape.vocabulary)


def _vocabulary(size: int) -> Iterator[tuple[str, int, bytes]]:
    tokens = ["<pad>", "</s>", "<s>", "<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁"]
    types = [CONTROL, CONTROL, CONTROL, UNKNOWN, *[BYTE] * 256]
    tokens += [f"t{number}" for number in range(size - len(tokens))]
    types += [NORMAL] * (size - len(types))
    array = struct.Struct("<IQ")
    yield "tokenizer.ggml.model", STRING, _text("llama")
    yield "tokenizer.ggml.pre", STRING, _text("default")
    yield (
        "tokenizer.ggml.tokens",
        ARRAY,
        array.pack(STRING, size) + b"".join(map(_text, tokens)),
    )
    scores = struct.pack(f"<{size}f", *(-float(number) for number in range(size)))
    yield "tokenizer.ggml.scores", ARRAY, array.pack(F32, size) + scores
    yield (
        "tokenizer.ggml.token_type",
        ARRAY,
        array.pack(I32, size) + struct.pack(f"<{size}i", *types),
    )
    for name, token in {"bos": 2, "eos": 1, "unknown": 3, "padding": 0}.items():
        yield f"tokenizer.ggml.{name}_token_id", U32, struct.pack("<I", token)
    yield "tokenizer.ggml.add_bos_token", BOOL, b"\1"
    yield "tokenizer.ggml.add_space_prefix", BOOL, b"\0"


def _random_blocks(name: str) -> bytes:
    size = FORMATS_BY_NAME[name].bytes
    blocks = bytearray(random.Random(name).randbytes(CHUNK_BLOCKS * size))
    if name in _EXPONENTS:
        blocks[::size] = bytes([_EXPONENTS[name]]) * CHUNK_BLOCKS
    for place, scale in _SCALES.get(name, {}).items():
        for index, byte in enumerate(struct.pack("<e", scale)):
            blocks[place + index :: size] = bytes([byte]) * CHUNK_BLOCKS
    return bytes(blocks)


def _random_floats() -> bytes:
    source = random.Random("f32")
    values = (source.uniform(-0.1, 0.1) for _ in range(CHUNK_FLOATS))
    return struct.pack(f"<{CHUNK_FLOATS}f", *values)


def _size(sizes: tuple[int, ...], format_name: str) -> int:
    """Bytes of a tensor, whose rows are whole blocks."""
    count = 1
    for size in sizes:
        count *= size
    return FORMATS_BY_NAME[format_name].size_of(count)


def _padded(size: int) -> int:
    return size + -size % ALIGNMENT


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data
