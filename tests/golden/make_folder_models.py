"""Writes folder_models.json and folder_models.npz: small models of many types, and what
transformers (with torch on the CPU) makes of a prompt. These are needed for this alone:

    pip install torch==2.13.0 transformers==5.24.0 accelerate gguf
    make_folder_models.py [CASE ...]    # of all, or of those only

Each model is made of a config.json as published folders have it. transformers writes it to a folder
once, by which the names and shapes of its tensors are known; they get other weights, and the folder
is read again.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from safetensors import safe_open

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "python"))

from folder_configs import CONFIGS, MXFP4_CASES, OF_SEVERAL_SENSES, SMALLER
from folder_encoders import EMBEDDING, MADE_WITH
from support.stored_folders import (
    DESCRIPTIONS,
    EXPECTED,
    POSITIONS,
    PROMPT,
    described,
    write_stored_folder,
)

DTYPES = {"torch.float32": "F32", "torch.bfloat16": "BF16", "torch.uint8": "U8"}


def main() -> None:
    names = sys.argv[1:] or list(CONFIGS)
    cases = described() if DESCRIPTIONS.exists() else {}
    expected = dict(np.load(EXPECTED)) if EXPECTED.exists() else {}
    cases = {name: case for name, case in cases.items() if name in CONFIGS}
    expected = {name: array for name, array in expected.items() if name in CONFIGS}
    for name in names:
        cases[name], expected[name] = make(name, CONFIGS[name])
        print(name, expected[name].shape, float(np.abs(expected[name]).max()))
    ordered = {name: cases[name] for name in CONFIGS if name in cases}
    DESCRIPTIONS.write_text(json.dumps(ordered, separators=(",", ":")), encoding="utf-8")
    np.savez_compressed(EXPECTED, **expected)


def make(name: str, config: dict[str, Any]) -> tuple[dict[str, Any], np.ndarray]:
    """What describes the case, and what is expected of it."""
    kind = _kind(name)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        settings = MADE_WITH.get(name, _without_quantisation(config))
        (folder / "config.json").write_text(json.dumps(settings))
        torch.manual_seed(1)
        model = kind.from_config(transformers.AutoConfig.from_pretrained(folder))
        model.save_pretrained(folder)
        tensors = _tensors(folder / "model.safetensors")
    if name in MXFP4_CASES:
        tensors = _in_mxfp4(tensors)
    case = {"config": config, "tensors": tensors}
    if name in SMALLER:
        case["smaller"] = SMALLER[name]
    if name in EMBEDDING:
        case["files"] = EMBEDDING[name]
    with tempfile.TemporaryDirectory() as made:
        folder = write_stored_folder(Path(made), case)
        (folder / "config.json").write_text(json.dumps(MADE_WITH.get(name, config)))
        model = kind.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
        model.eval()
        with torch.no_grad():
            found = model(input_ids=torch.tensor([PROMPT]))
            if name not in EMBEDDING:
                return case, found.logits[0, list(POSITIONS)].float().numpy()
            rows = found.last_hidden_state[0].float()  # (T, C)
            return case, _pooled(folder, rows, EMBEDDING[name]).numpy()


def _kind(name: str) -> Any:
    if name in EMBEDDING:
        return transformers.AutoModel
    if name in OF_SEVERAL_SENSES:
        return transformers.AutoModelForImageTextToText
    return transformers.AutoModelForCausalLM


def _without_quantisation(config: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key != "quantization_config"}


def _tensors(path: Path) -> dict[str, tuple[str, list[int]]]:
    with safe_open(path, "pt") as file:
        found = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    return {name: (DTYPES[str(x.dtype)], list(x.shape)) for name, x in found.items()}


def _in_mxfp4(tensors: dict[str, Any]) -> dict[str, Any]:
    """Experts (E, K, M) as blocks of 32 values of each of M rows, and a scale for each."""
    made = {}
    for name, (dtype, shape) in tensors.items():
        if not name.endswith("experts.gate_up_proj") and not name.endswith("experts.down_proj"):
            made[name] = (dtype, shape)
            continue
        count, columns, rows = shape
        made[f"{name}_blocks"] = ("U8", [count, rows, columns // 32, 16])
        made[f"{name}_scales"] = ("U8", [count, rows, columns // 32])
    return made


def _pooled(folder: Path, rows: torch.Tensor, files: dict[str, Any]) -> torch.Tensor:
    """As the files of sentence-transformers say, brought to length 1."""
    pooling = files["1_Pooling/config.json"]
    vector = rows[:1] if pooling.get("pooling_mode_cls_token") else rows.mean(0, keepdim=True)
    for name, content in files.items():
        if "tensors" in content:
            with safe_open(folder / name, "pt") as file:
                vector = vector @ file.get_tensor("linear.weight").T
    return vector / vector.norm()


if __name__ == "__main__":
    main()
