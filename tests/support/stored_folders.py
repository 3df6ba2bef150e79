"""Folders of small models, whose weights come from their tensors' names, with what transformers
makes of them: logits of a prompt, or vectors. `golden/make_folder_models.py` writes these."""

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from support.safetensors_builder import safetensors, write_folder

GOLDEN = Path(__file__).parents[1] / "golden"
DESCRIPTIONS = GOLDEN / "folder_models.json"  # by case: config, further files, tensors
EXPECTED = GOLDEN / "folder_models.npz"  # by case: logits (positions, V), or a vector (1, C)

VOCABULARY = 300
PROMPT = np.random.default_rng(6).integers(4, VOCABULARY, 24).tolist()
POSITIONS = (0, 4, 13, 23)  # whose logits are stored


def weights(name: str, dtype: str, shape: tuple[int, ...], size: float = 1.0) -> np.ndarray:
    """Random, but always the same: vectors around `size`, so that a scale of 0 is nowhere."""
    source = np.random.default_rng(zlib.crc32(name.encode()))
    if dtype == "U8":  # numbers of 4 bits, or exponents of scales
        bounds = (121, 126) if name.endswith("_scales") else (0, 256)
        return source.integers(*bounds, shape, dtype=np.uint8)
    if name.endswith("bias"):
        return source.normal(0.0, 0.3, shape).astype(np.float32)
    if len(shape) < 2:
        return source.uniform(0.5 * size, 1.5 * size, shape).astype(np.float32)
    return source.normal(0.0, size * shape[-1] ** -0.5, shape).astype(np.float32)


def described() -> dict[str, Any]:
    with DESCRIPTIONS.open(encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found


def write_stored_folder(folder: Path, description: Any) -> Path:
    """The folder of a case. Its `smaller` are parts of the names of weights of a tenth."""

    def made(tensors: dict[str, Any]) -> dict[str, tuple[str, np.ndarray]]:
        parts = description.get("smaller", [])
        sizes = {name: 0.1 if any(part in name for part in parts) else 1.0 for name in tensors}
        return {
            name: (dtype, weights(name, dtype, tuple(shape), sizes[name]))
            for name, (dtype, shape) in tensors.items()
        }

    write_folder(folder, description["config"], made(description["tensors"]))
    for name, content in description.get("files", {}).items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        if "tensors" in content:
            path.write_bytes(safetensors(made(content["tensors"])))
        else:
            path.write_text(json.dumps(content))
    return folder
