"""LoRA adapters of random but fixed numbers for tiny models."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np

from llm.files.gguf import GgufFile

RANK = 5  # no whole part of a row
ALPHA = 12.0


def write_tiny_adapter(
    path: Path,
    model: Path,
    *,
    names: tuple[str, ...] = ("attn_q", "attn_v", "attn_output", "ffn_up", "ffn_down"),
    rank: int = RANK,
    alpha: float | None = ALPHA,
    seed: int = 11,
    dtype: type[np.floating[Any]] = np.float32,
    metadata: Mapping[str, str] | None = None,
    replaced: Mapping[str, np.ndarray | None] | None = None,
) -> Path:
    """Of the matrices of `model` that are of one of the kinds `names`.

    `metadata` are texts under further keys; `replaced` gives tensors of another content, also
    further ones, and None leaves one out.
    """
    file = GgufFile.open(str(model))
    keys = {
        "general.type": "adapter",
        "adapter.type": "lora",
        **(metadata or {}),
    }
    writer = gguf.GGUFWriter(path, file.metadata.str("general.architecture"))
    for key, value in keys.items():
        writer.add_string(key, value)
    if alpha is not None:
        writer.add_float32("adapter.lora.alpha", alpha)
    source = np.random.default_rng(seed)
    tensors: dict[str, np.ndarray | None] = {}
    for name, info in file.tensors.items():
        if len(info.shape) != 2 or name.split(".")[-2] not in names:
            continue
        rows, columns = info.shape
        tensors[f"{name}.lora_a"] = source.normal(0.0, 0.05, (rank, columns)).astype(dtype)
        tensors[f"{name}.lora_b"] = source.normal(0.0, 0.05, (rows, rank)).astype(dtype)
    for name, values in (tensors | dict(replaced or {})).items():
        if values is not None:
            writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
