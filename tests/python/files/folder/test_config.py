"""config.json: what it becomes, and what is said of one that cannot be."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.safetensors_builder import write_folder
from support.tiny_folders import GEMMA_CONFIG, LLAMA_CONFIG

from llm.errors import ModelFileError, UnsupportedModelError
from llm.files.model_file import ModelFile
from llm.files.opening import open_model


def opened(path: Path, config: Any) -> ModelFile:
    return open_model(str(write_folder(path, config, {})))


def test_layers_by_their_kinds(tmp_path: Path) -> None:
    kinds = ["sliding_attention"] * 3 + ["full_attention"]
    rope = {
        "full_attention": {"rope_type": "default", "rope_theta": 3e5},
        "sliding_attention": {"rope_type": "default", "rope_theta": 2e4},
    }
    config = GEMMA_CONFIG | {"layer_types": kinds * 2, "rope_parameters": rope}
    with opened(tmp_path, config) as file:
        assert file.metadata.int("gemma3.attention.sliding_window_pattern") == 4
        assert file.metadata.float("gemma3.rope.freq_base") == 3e5
        assert file.metadata.float("gemma3.rope.freq_base_swa") == 2e4


def test_frequencies_of_llama_3(tmp_path: Path) -> None:
    scaling = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0}
    scaling |= {"high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
    with opened(tmp_path, LLAMA_CONFIG | {"rope_scaling": scaling}) as file:
        found = file.data("rope_freqs.weight").view(np.float32)
        assert "llama.rope.scaling.type" not in file.metadata
    waves = 2 * np.pi * 5e5 ** (np.arange(0, 64, 2) / 64)  # tokens a turn
    for divisor, wave in zip(found, waves, strict=True):
        if wave < 8192 / 4:
            expected = 1.0
        elif wave > 8192:
            expected = 8.0
        else:
            smooth = (8192 / wave - 1.0) / (4.0 - 1.0)
            expected = 1 / ((1 - smooth) / 8.0 + smooth)
        assert divisor == pytest.approx(expected, rel=1e-6)
    assert found[0] == 1.0
    assert found[-1] == 8.0


def test_yarn(tmp_path: Path) -> None:
    scaling = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 24}
    with opened(tmp_path, LLAMA_CONFIG | {"rope_scaling": scaling}) as file:
        found = {key for key in file.metadata if ".rope.scaling." in key}
        assert found == {
            "llama.rope.scaling.type",
            "llama.rope.scaling.factor",
            "llama.rope.scaling.original_context_length",
        }
    scaling |= {"beta_fast": 16, "attention_factor": 1.3}
    with opened(tmp_path, LLAMA_CONFIG | {"rope_scaling": scaling}) as file:
        assert file.metadata.int("llama.rope.scaling.original_context_length") == 24
        assert file.metadata.float("llama.rope.scaling.yarn_beta_fast") == 16.0
        factor = file.metadata.float("llama.rope.scaling.attn_factor")
        assert factor * (1 + 0.1 * np.log(4)) == pytest.approx(1.3)


def test_factors_of_phi_3(tmp_path: Path) -> None:
    scaling = {"type": "longrope", "long_factor": [2.0] * 24, "short_factor": [1] * 24}
    config = LLAMA_CONFIG | {"model_type": "phi3", "rope_scaling": scaling}
    config |= {"partial_rotary_factor": 0.75, "max_position_embeddings": 131072}
    with opened(tmp_path, config | {"original_max_position_embeddings": 4096}) as file:
        assert file.data("rope_factors_long.weight").view(np.float32).tolist() == [2.0] * 24
        assert file.data("rope_factors_short.weight").view(np.float32).tolist() == [1.0] * 24
        assert file.metadata.int("phi3.rope.dimension_count") == 48
        assert file.metadata.int("phi3.rope.scaling.original_context_length") == 4096
        factor = file.metadata.float("phi3.rope.scaling.attn_factor")
        assert factor == pytest.approx((1 + np.log(32) / np.log(4096)) ** 0.5)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        pytest.param(
            {"model_type": 3}, "config.json: model_type: expected text, found 3", id="type"
        ),
        pytest.param(
            {"num_hidden_layers": None},
            "config.json: num_hidden_layers: is missing from the metadata",
            id="a size is missing",
        ),
        pytest.param(
            {"hidden_size": 2**40},
            "config.json: hidden_size: is 1,099,511,627,776, but must be 1 to 2,147,483,647",
            id="a size beyond all models",
        ),
        pytest.param(
            {"num_attention_heads": "eight"},
            "config.json: num_attention_heads: expected a whole number, found the text 'eight'",
            id="a size that is text",
        ),
        pytest.param(
            {"intermediate_size": [[5]]},
            "config.json: intermediate_size: expected a whole number, found a list of 1",
            id="a size that is a list",
        ),
        pytest.param(
            {"rms_norm_eps": {"a": 1, "b": 2}},
            "config.json: rms_norm_eps: expected a number, found an object of 2 keys",
            id="a number that is an object",
        ),
        pytest.param(
            {"head_dim": 2**30},
            "config.json: head_dim: is 1,073,741,824, but may be 65,536 at most",
            id="a head beyond all models",
        ),
        pytest.param(
            {"rope_scaling": [1]}, "config.json: rope_scaling: is not an object", id="no object"
        ),
        pytest.param(
            {"rope_scaling": {"type": "linear"}},
            "config.json: factor: is missing from the metadata",
            id="no factor",
        ),
        pytest.param(
            {"rope_scaling": {"type": "yarn", "factor": -1.0}},
            "config.json: rope_scaling.factor: -1 is not above 0",
            id="a factor below 0",
        ),
        pytest.param(
            {"rope_scaling": {"type": "yarn", "factor": 2, "truncate": False, "beta_fast": 0}},
            "config.json: rope_scaling.beta_fast: 0 is not above 0",
            id="pairs that never turn",
        ),
        pytest.param(
            {"rope_scaling": {"type": "yarn", "factor": 2, "truncate": False}, "rope_theta": 1},
            "config.json: rope_theta: 1 is not above 1",
            id="pairs that turn alike",
        ),
        pytest.param(
            {"quantization_config": {"weight_block_size": [0, 128]}},
            "config.json: quantization_config.weight_block_size: "
            "is not two whole numbers from 1 to 65,536",
            id="blocks of nothing",
        ),
    ],
)
def test_a_config_that_cannot_be(tmp_path: Path, config: Any, message: str) -> None:
    write_folder(tmp_path, LLAMA_CONFIG | config, {})
    with pytest.raises(ModelFileError) as caught:
        open_model(str(tmp_path))
    assert str(caught.value) == f"{tmp_path}/{message}"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        pytest.param(
            {"quantization_config": {"quant_method": "gptq"}},
            "quantization_config.quant_method is 'gptq'; this build runs compressed-tensors, "
            "fbgemm_fp8, folders without it, fp8, modelopt, mxfp4",
            id="quantised",
        ),
        pytest.param(
            {"rope_scaling": {"rope_type": "spiral"}},
            "rope_type is 'spiral'; this build runs default, dynamic, linear, llama3, longrope, "
            "proportional, su, yarn",
            id="rope",
        ),
    ],
)
def test_a_sound_folder_that_asks_for_more(tmp_path: Path, config: Any, message: str) -> None:
    write_folder(tmp_path, LLAMA_CONFIG | config, {})
    with pytest.raises(UnsupportedModelError) as caught:
        open_model(str(tmp_path))
    assert str(caught.value) == f"{tmp_path}/config.json: {message}"
