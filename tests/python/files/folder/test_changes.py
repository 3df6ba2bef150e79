"""What becomes of tensors on their way from a folder to GGUF, row by row."""

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from support.safetensors_builder import restored, stored, write_folder
from support.stored_folders import described, weights
from support.tiny_folders import GEMMA_CONFIG, LLAMA_CONFIG

from llm.errors import ModelFileError, UnsupportedModelError
from llm.files.folder import mxfp4
from llm.files.opening import open_model

BLOCK = "model.layers.0."
EXPERTS = 3
WIDTH, HEIGHT = 64, 40
source = np.random.default_rng(3)

GPT_OSS = LLAMA_CONFIG | {"model_type": "gpt_oss"}
IN_MXFP4 = GPT_OSS | {"quantization_config": {"quant_method": "mxfp4"}}
QWEN3_5 = LLAMA_CONFIG | {
    "model_type": "qwen3_5_text",
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 6,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "linear_conv_kernel_dim": 4,
}


def values_of(folder: Path, name: str) -> np.ndarray:
    """All rows of a tensor, read in pieces that divide nothing."""
    with open_model(str(folder)) as file:
        info = file.tensors[name]
        pieces = [
            file.rows(name, start, min(7, info.rows - start)) for start in range(0, info.rows, 7)
        ]
        whole = np.concatenate(pieces)
        assert np.array_equal(whole, file.data(name))
        dtype = {"f32": np.float32, "f16": np.float16, "mxfp4": np.uint8}[info.format.name]
        shape = (*info.shape[:-1], -1)
        return whole.view(dtype).reshape(shape)


def numbers(*shape: int) -> np.ndarray:
    return source.normal(size=shape).astype(np.float32)


def test_blocks_of_mxfp4(tmp_path: Path) -> None:
    """Against gguf's own expansion of what they become, and the definition of the format."""
    blocks = source.integers(0, 256, (EXPERTS, 2 * HEIGHT, WIDTH // 32, 16), dtype=np.uint8)
    scales = source.integers(100, 140, blocks.shape[:-1], dtype=np.uint8)
    name = f"{BLOCK}mlp.experts.gate_up_proj"
    tensors = {f"{name}_blocks": ("U8", blocks), f"{name}_scales": ("U8", scales)}
    write_folder(tmp_path, IN_MXFP4, tensors)
    table = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
    signed = np.concatenate((table, -table))  # by the 4 bits
    each = np.stack((signed[blocks & 15], signed[blocks >> 4]), -1).reshape(*scales.shape, 32)
    expected = (each * np.exp2(scales.astype(np.float32) - 127)[..., None]).reshape(
        EXPERTS, 2 * HEIGHT, WIDTH
    )
    for first, kind in enumerate(("gate", "up")):
        found = values_of(tmp_path, f"blk.0.ffn_{kind}_exps.weight")
        expanded = gguf.dequantize(found, gguf.GGMLQuantizationType.MXFP4)
        assert np.array_equal(expanded, expected[:, first::2])


def test_a_block_is_packed_as_gguf_does() -> None:
    numbers = np.arange(16, dtype=np.uint8)[None, None]  # number 2i is i, number 2i + 1 is 0
    packed = mxfp4.packed(numbers, np.array([[9]], np.uint8))[0, 0]
    assert packed.tolist() == [
        9,
        *(n // 2 | (n // 2 + 8) << 4 if n % 2 == 0 else 0 for n in range(16)),
    ]


def test_experts_whose_rows_are_columns(tmp_path: Path) -> None:
    whole = numbers(EXPERTS, WIDTH, 2 * HEIGHT)
    down = numbers(EXPERTS, HEIGHT, WIDTH)
    biases = numbers(EXPERTS, 2 * HEIGHT)
    tensors = {
        f"{BLOCK}mlp.experts.gate_up_proj": stored(whole, "F16"),
        f"{BLOCK}mlp.experts.gate_up_proj_bias": ("F32", biases),
        f"{BLOCK}mlp.experts.down_proj": ("F32", down),
    }
    write_folder(tmp_path, GPT_OSS, tensors)
    for first, kind in enumerate(("gate", "up")):
        found = values_of(tmp_path, f"blk.0.ffn_{kind}_exps.weight")
        assert np.array_equal(found, whole.swapaxes(1, 2)[:, first::2].astype(np.float16))
        assert np.array_equal(
            values_of(tmp_path, f"blk.0.ffn_{kind}_exps.bias"), biases[:, first::2]
        )
    assert np.array_equal(values_of(tmp_path, "blk.0.ffn_down_exps.weight"), down.swapaxes(1, 2))


def test_value_heads_take_turns(tmp_path: Path) -> None:
    """Value head h of a folder has the key head h // 3, of a GGUF file h % 2."""
    keys, heads = 2 * 2 * 8, 6
    order = [0, 3, 1, 4, 2, 5]
    qkv, gate, output = numbers(keys + 48, WIDTH), numbers(48, WIDTH), numbers(WIDTH, 48)
    decay, taps = numbers(heads), numbers(keys + 48, 1, 4)
    tensors = {
        f"{BLOCK}linear_attn.in_proj_qkv.weight": ("F32", qkv),
        f"{BLOCK}linear_attn.in_proj_z.weight": ("F32", gate),
        f"{BLOCK}linear_attn.out_proj.weight": ("F32", output),
        f"{BLOCK}linear_attn.A_log": ("F32", decay),
        f"{BLOCK}linear_attn.conv1d.weight": stored(taps, "F16"),
    }
    write_folder(tmp_path, QWEN3_5, tensors)

    def turned(values: np.ndarray) -> np.ndarray:
        return values.reshape(heads, 8, *values.shape[1:])[order].reshape(values.shape)

    found = values_of(tmp_path, "blk.0.attn_qkv.weight")
    assert np.array_equal(found, np.concatenate((qkv[:keys], turned(qkv[keys:]))))
    assert np.array_equal(values_of(tmp_path, "blk.0.attn_gate.weight"), turned(gate))
    assert np.array_equal(values_of(tmp_path, "blk.0.ssm_out.weight"), turned(output.T).T)
    assert np.allclose(values_of(tmp_path, "blk.0.ssm_a"), -np.exp(decay[order]), rtol=1e-6)
    halves = taps[:, 0].astype(np.float16).astype(np.float32)
    found = values_of(tmp_path, "blk.0.ssm_conv1d.weight")
    assert np.array_equal(found, np.concatenate((halves[:keys], turned(halves[keys:]))))


@pytest.mark.parametrize(
    "case",
    ["bert", "gemma3_text", "gemma4_text", "gpt_oss", "granitemoeshared", "lfm2", "qwen3_5_text"],
)
def test_half_of_the_bits(tmp_path: Path, case: str) -> None:
    """A folder in BF16, as most are: the same values as of one in float32 that holds no others."""
    described_case = described()[case]
    both: dict[str, dict[str, Any]] = {"BF16": {}, "F32": {}}
    for name, (dtype, shape) in described_case["tensors"].items():
        values = weights(name, dtype, tuple(shape))
        both["BF16"][name] = stored(values, "BF16")
        both["F32"][name] = ("F32", restored(values, "BF16"))
    for dtype, tensors in both.items():
        write_folder(tmp_path / dtype, described_case["config"], tensors)
    with (
        open_model(str(tmp_path / "BF16")) as halves,
        open_model(str(tmp_path / "F32")) as whole,
    ):
        assert halves.tensors.keys() == whole.tensors.keys()
        for name, info in halves.tensors.items():
            found = halves.data(name)
            if info.format.name == "bf16":
                found = (found.view(np.uint16).astype(np.uint32) << 16).view(np.uint8)
            assert info.shape == whole.tensors[name].shape
            assert np.array_equal(found, whole.data(name)), name


def test_a_table_is_filled_up(tmp_path: Path) -> None:
    config = GEMMA_CONFIG | {"model_type": "gemma3n_text", "vocab_size": 13}
    config |= {"num_hidden_layers": 20, "num_kv_shared_layers": 0}
    table = numbers(9, WIDTH)
    write_folder(tmp_path, config, {"model.embed_tokens_per_layer.weight": ("F32", table)})
    found = values_of(tmp_path, "per_layer_token_embd.weight")
    assert np.array_equal(found, np.concatenate((table, np.zeros((4, WIDTH), np.float32))))


@pytest.mark.parametrize(
    ("config", "name", "tensor", "problem"),
    [
        pytest.param(
            IN_MXFP4,
            "mlp.experts.down_proj_blocks",
            ("U8", np.zeros((3, 4, 2, 16), np.uint8)),
            "holds blocks of MXFP4, but model.layers.0.mlp.experts.down_proj_scales is missing",
            id="no scales",
        ),
        pytest.param(
            QWEN3_5,
            "linear_attn.in_proj_z.weight",
            ("F32", np.zeros((40, 4), np.float32)),
            "has a side of 40, not 48, as the heads in config.json need",
            id="heads",
        ),
        pytest.param(
            QWEN3_5,
            "linear_attn.out_proj.weight",
            ("F32", np.zeros((4, 40), np.float32)),
            "has a side of 40, not 48, as the heads in config.json need",
            id="columns",
        ),
        pytest.param(
            QWEN3_5,
            "linear_attn.conv1d.weight",
            ("F32", np.zeros((80, 2, 4), np.float32)),
            "is no convolution of each channel by itself",
            id="a convolution over channels",
        ),
        pytest.param(
            LLAMA_CONFIG | {"model_type": "granitemoe"},
            "mlp.experts.0.gate_proj.weight",
            ("F32", np.zeros((6, 4), np.float32)),
            "is of one expert, where folders of the family hold all in one",
            id="experts one by one",
        ),
        pytest.param(
            LLAMA_CONFIG | {"model_type": "granitemoe"},
            "block_sparse_moe.input_linear.weight",
            ("F32", np.zeros((2, 5, 4), np.float32)),
            "has 5 rows, which are not two matrices",
            id="an odd number of rows",
        ),
    ],
)
def test_tensors_that_cannot_be(
    tmp_path: Path, config: Any, name: str, tensor: Any, problem: str
) -> None:
    write_folder(tmp_path, config, {BLOCK + name: tensor})
    with pytest.raises(ModelFileError) as caught:
        open_model(str(tmp_path))
    assert str(caught.value).endswith(f"tensor '{BLOCK}{name}': {problem}")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"model_type": "qwen3_moe", "norm_topk_prob": False}, "norm_topk_prob is 'False'; this"),
        ({"model_type": "olmoe", "clip_qkv": 8.0}, "clip_qkv is '8.0'; this build runs None"),
        ({"model_type": "stablelm", "qk_layernorm": True}, "qk_layernorm is 'True'; this build"),
    ],
)
def test_settings_that_would_give_other_numbers(tmp_path: Path, config: Any, message: str) -> None:
    write_folder(tmp_path, LLAMA_CONFIG | config, {})
    with pytest.raises(UnsupportedModelError, match=f"config.json: {message}"):
        open_model(str(tmp_path))
