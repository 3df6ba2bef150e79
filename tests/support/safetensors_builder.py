"""Writes safetensors files and Hugging Face folders for tests, without the reader that it tests."""

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from support.random_model import VOCABULARY

Tensors = Mapping[str, tuple[str, np.ndarray]]  # name -> type as the file names it, array of bits

_BITS = {"F32": np.float32, "F16": np.float16, "BF16": np.uint16, "F8_E4M3": np.uint8}


def safetensors(tensors: Tensors, *, changed: Mapping[str, Any] | None = None) -> bytes:
    """A file; `changed` gives entries of its header in place of the right ones."""
    entries: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, (dtype, values) in tensors.items():
        offsets = [len(data), len(data) + values.nbytes]
        entries[name] = {"dtype": dtype, "shape": list(values.shape), "data_offsets": offsets}
        data += values.tobytes()
    header = json.dumps(entries | dict(changed or {})).encode()
    return struct.pack("<Q", len(header)) + header + data


def stored(values: np.ndarray, dtype: str) -> tuple[str, np.ndarray]:
    """float32 values as a file has them: cut to BF16's bits, rounded to F16's."""
    if dtype == "BF16":
        return dtype, (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return dtype, values.astype(_BITS[dtype])


def restored(values: np.ndarray, dtype: str) -> np.ndarray:
    """What `stored` leaves of values, float32."""
    _, bits = stored(values, dtype)
    if dtype == "BF16":
        return (bits.astype(np.uint32) << 16).view(np.float32)
    return bits.astype(np.float32)


def write_folder(
    folder: Path,
    config: Mapping[str, Any],
    tensors: Tensors,
    *,
    files: int = 1,
    tokenizer: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Path:
    """A folder whose tensors are dealt out to `files` files; the tokenizer is a small one."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer or small_tokenizer()))
    usual = {"bos_token": "<bos>", "eos_token": "<eos>", "unk_token": "<unk>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings or usual))
    if files == 1:
        (folder / "model.safetensors").write_bytes(safetensors(tensors))
        return folder
    weight_map = {}
    for number in range(files):
        name = f"model-{number + 1:05d}-of-{files:05d}.safetensors"
        part = dict(list(tensors.items())[number::files])
        (folder / name).write_bytes(safetensors(part))
        weight_map |= dict.fromkeys(part, name)
    index = {"metadata": {}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def small_tokenizer(size: int = VOCABULARY) -> dict[str, Any]:
    """The tokens of a random model, as BPE that falls back to bytes."""
    special = ["<pad>", "<eos>", "<bos>", "<unk>"]
    tokens = [*special, *(f"<0x{byte:02X}>" for byte in range(256))]
    tokens += [f"t{number}" for number in range(size - len(tokens))]
    added = [{"id": id, "content": token, "special": True} for id, token in enumerate(special)]
    model = {
        "type": "BPE",
        "byte_fallback": True,
        "unk_token": "<unk>",
        "vocab": {token: id for id, token in enumerate(tokens)},
        "merges": [["t", token[1:]] for token in tokens if token[:1] == "t"],
    }
    return {"model": model, "added_tokens": added}
