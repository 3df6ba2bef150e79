"""Whole folders: what stands under GGUF's names and keys, and what is said of damaged ones."""

import json
import random
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.safetensors_builder import safetensors, write_folder
from support.tiny_folders import LLAMA_CONFIG

from llm.errors import LLMError, ModelFileError, UnsupportedModelError
from llm.files.folder.families.registry import FAMILIES as KNOWN
from llm.files.folder.folder import HuggingFaceFolder
from llm.files.opening import open_model

WIDTH = 64
BLOCK = "model.layers.1."


def numbers(*shape: int, start: int = 0) -> tuple[str, np.ndarray]:
    count = int(np.prod(shape))
    return "F32", np.arange(start, start + count, dtype=np.float32).reshape(shape)


def opened(path: Path, tensors: Any, config: Any = LLAMA_CONFIG, **options: Any) -> Any:
    return open_model(str(write_folder(path, config, tensors, **options)))


def error_of(path: Path) -> str:
    with pytest.raises(ModelFileError) as caught:
        open_model(str(path))
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(str(path) + "/")


def test_experts_are_stacked(tmp_path: Path) -> None:
    experts = {
        f"{BLOCK}block_sparse_moe.experts.{number}.w1.weight": numbers(3, WIDTH, start=number)
        for number in (2, 0, 1)
    }
    gate = {f"{BLOCK}block_sparse_moe.gate.weight": ("F16", np.ones((3, WIDTH), np.float16))}
    config = LLAMA_CONFIG | {"model_type": "mixtral", "num_local_experts": 3}
    with opened(tmp_path, experts | gate, config | {"num_experts_per_tok": 2}) as file:
        assert file.metadata.str("general.architecture") == "llama"
        assert file.metadata.int("llama.expert_count") == 3
        assert file.metadata.int("llama.expert_used_count") == 2
        name = "blk.1.ffn_gate_exps.weight"
        assert file.tensors[name].shape == (3, 3, WIDTH)
        whole = np.concatenate([numbers(3, WIDTH, start=number)[1] for number in range(3)])
        for start, count in ((0, 9), (2, 2), (3, 3), (5, 4), (8, 1)):
            found = file.rows(name, start, count).view(np.float32).reshape(count, WIDTH)
            assert np.array_equal(found, whole[start : start + count])
        assert file.tensors["blk.1.ffn_gate_inp.weight"].format.name == "f32"
        assert file.data("blk.1.ffn_gate_inp.weight").view(np.float32).tolist() == [1.0] * 192


def test_an_expert_is_missing(tmp_path: Path) -> None:
    experts = {
        f"{BLOCK}mlp.experts.{number}.up_proj.weight": numbers(3, WIDTH) for number in (0, 2)
    }
    write_folder(tmp_path, LLAMA_CONFIG, experts)
    message = "is one of 2 experts, but not all up to 2"
    assert error_of(tmp_path).endswith(f"tensor '{BLOCK}mlp.experts.0.up_proj.weight': {message}")


def test_experts_are_alike(tmp_path: Path) -> None:
    experts = {
        f"{BLOCK}mlp.experts.{number}.up_proj.weight": numbers(3 + number, WIDTH)
        for number in (0, 1)
    }
    write_folder(tmp_path, LLAMA_CONFIG, experts)
    assert error_of(tmp_path).endswith("is F32 (4, 64), the first is F32 (3, 64)")


def test_a_tied_output_is_left_out(tmp_path: Path) -> None:
    tensors = {"model.embed_tokens.weight": numbers(9, WIDTH), "lm_head.weight": numbers(9, WIDTH)}
    with opened(tmp_path, tensors) as file:
        assert list(file.tensors) == ["token_embd.weight", "output.weight"]
    with opened(tmp_path, tensors, LLAMA_CONFIG | {"tie_word_embeddings": True}) as file:
        assert list(file.tensors) == ["token_embd.weight"]


def test_a_model_of_several_senses(tmp_path: Path) -> None:
    """What the files of Gemma 3 with images leave out is what its own classes say."""
    text = {"model_type": "gemma3_text", "hidden_size": 2560, "num_hidden_layers": 34}
    text |= {"intermediate_size": 10240, "sliding_window": 1024}
    text["rope_scaling"] = {"factor": 8.0, "rope_type": "linear"}
    config = {"model_type": "gemma3", "text_config": text, "vision_config": {"hidden_size": 3}}
    tensors = {
        "language_model.model.norm.weight": numbers(5),
        "language_model.lm_head.weight": numbers(9, WIDTH),
        "vision_tower.vision_model.post_layernorm.weight": numbers(5),
        "multi_modal_projector.mm_soft_emb_norm.weight": numbers(5),
    }
    with opened(tmp_path, tensors, config) as file:
        assert list(file.tensors) == ["output_norm.weight", "output.weight"]
        assert file.data("output_norm.weight").view(np.float32).tolist() == [1, 2, 3, 4, 5]
        found = {key: value for key, value in file.metadata.items() if key.startswith("gemma3.")}
    assert found == {
        "gemma3.block_count": 34,
        "gemma3.context_length": 131_072,
        "gemma3.embedding_length": 2560,
        "gemma3.feed_forward_length": 10240,
        "gemma3.attention.head_count": 8,
        "gemma3.attention.head_count_kv": 4,
        "gemma3.attention.key_length": 256,
        "gemma3.attention.value_length": 256,
        "gemma3.attention.layer_norm_rms_epsilon": 1e-6,
        "gemma3.attention.sliding_window": 1024,
        "gemma3.rope.freq_base": 1e6,
        "gemma3.rope.scaling.type": "linear",
        "gemma3.rope.scaling.factor": 8.0,
    }


def test_biases_take_their_places_with_the_rows(tmp_path: Path) -> None:
    tensors = {f"{BLOCK}self_attn.{kind}_proj.bias": numbers(128) for kind in "qv"}
    with opened(tmp_path, tensors) as file:
        order = np.arange(128).reshape(2, 2, 32).swapaxes(1, 2).reshape(-1)
        assert np.array_equal(file.data("blk.1.attn_q.bias").view(np.float32), order)
        assert np.array_equal(file.data("blk.1.attn_v.bias").view(np.float32), np.arange(128))


@pytest.mark.parametrize(
    ("setting", "number"),
    [("mean_tokens", 1), ("cls_token", 2), ("lasttoken", 3), ("max_tokens", None)],
)
def test_how_vectors_are_made(tmp_path: Path, setting: str, number: int | None) -> None:
    (tmp_path / "1_Pooling").mkdir()
    content = {f"pooling_mode_{setting}": True, "pooling_mode_sqrt": False}
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps(content))
    with opened(tmp_path, {}) as file:
        assert file.metadata.int("llama.pooling_type", None) == number


# What folders of a family hold of a layer beside what all have, and GGUF's names for it.
LAYER = {
    "input_layernorm.weight": "attn_norm.weight",
    "self_attn.q_proj.weight": "attn_q.weight",
    "self_attn.k_proj.weight": "attn_k.weight",
    "self_attn.v_proj.weight": "attn_v.weight",
    "self_attn.o_proj.weight": "attn_output.weight",
    "mlp.up_proj.weight": "ffn_up.weight",
    "mlp.gate_proj.weight": "ffn_gate.weight",
    "mlp.down_proj.weight": "ffn_down.weight",
}
NORM = {"post_attention_layernorm.weight": "ffn_norm.weight"}
HEADS = {"self_attn.q_norm.weight": "attn_q_norm.weight"}
HEADS |= {"self_attn.k_norm.weight": "attn_k_norm.weight"}
SANDWICH = {
    "post_attention_layernorm.weight": "post_attention_norm.weight",
    "pre_feedforward_layernorm.weight": "ffn_norm.weight",
    "post_feedforward_layernorm.weight": "post_ffw_norm.weight",
}
FAMILIES: dict[str, tuple[str, dict[str, str]]] = {
    "gemma": ("gemma", LAYER | NORM),
    "gemma2": ("gemma2", LAYER | SANDWICH),
    "gemma3_text": ("gemma3", LAYER | SANDWICH | HEADS),
    "granite": ("granite", LAYER | NORM),
    "llama": ("llama", LAYER | NORM),
    "mistral": ("llama", LAYER | NORM),
    "mixtral": (
        "llama",
        {
            "block_sparse_moe.gate.weight": "ffn_gate_inp.weight",
            "block_sparse_moe.experts.0.w1.weight": "ffn_gate_exps.weight",
            "block_sparse_moe.experts.0.w2.weight": "ffn_down_exps.weight",
            "block_sparse_moe.experts.0.w3.weight": "ffn_up_exps.weight",
        },
    ),
    "phi3": (
        "phi3",
        {
            "self_attn.qkv_proj.weight": "attn_qkv.weight",
            "mlp.gate_up_proj.weight": "ffn_up.weight",
        }
        | NORM,
    ),
    "qwen2": ("qwen2", LAYER | NORM | {"self_attn.k_proj.bias": "attn_k.bias"}),
    "qwen3": ("qwen3", LAYER | NORM | HEADS),
    "qwen3_moe": (
        "qwen3moe",
        {
            "mlp.gate.weight": "ffn_gate_inp.weight",
            "mlp.experts.0.gate_proj.weight": "ffn_gate_exps.weight",
            "mlp.experts.0.down_proj.weight": "ffn_down_exps.weight",
            "mlp.experts.0.up_proj.weight": "ffn_up_exps.weight",
        },
    ),
    "smollm3": ("smollm3", LAYER | NORM),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("prefix", ["model.", ""])
def test_names(tmp_path: Path, family: str, prefix: str) -> None:
    """Without an output of its own, a model may leave "model." out."""
    architecture, layer = FAMILIES[family]
    whole = {"embed_tokens.weight": "token_embd.weight", "norm.weight": "output_norm.weight"}
    whole |= {f"layers.17.{theirs}": f"blk.17.{ours}" for theirs, ours in layer.items()}
    tensors = {
        prefix + name: numbers(128) if "norm" in name or "bias" in name else numbers(128, 4)
        for name in whole
    }
    with opened(tmp_path, tensors, LLAMA_CONFIG | {"model_type": family}) as file:
        assert file.metadata.str("general.architecture") == architecture
        assert list(file.tensors) == list(whole.values())


@pytest.mark.parametrize("model_type", ["mamba", "internlm2", "gpt-oss"])
def test_a_model_type_that_is_not_known(tmp_path: Path, model_type: str) -> None:
    """Also where GGUF files of the architecture run: one line names the type, and those known."""
    write_folder(tmp_path, {"model_type": model_type, "rope_scaling": 3}, {})
    with pytest.raises(UnsupportedModelError) as caught:
        open_model(str(tmp_path))
    known = ", ".join(sorted(KNOWN))
    assert str(caught.value) == (
        f"{tmp_path}/config.json: model_type is '{model_type}'; this build runs {known}"
    )


def test_the_digest_is_of_the_files_that_matter(tmp_path: Path) -> None:
    def digest(config: Any = LLAMA_CONFIG, rows: int = 9) -> str:
        with opened(tmp_path, {"model.embed_tokens.weight": numbers(rows, 4)}, config) as file:
            return file.digest_without_data()

    assert digest() == digest()
    assert len({digest(), digest(rows=8), digest(LLAMA_CONFIG | {"rope_theta": 1e4})}) == 3


def test_weights_of_another_type(tmp_path: Path) -> None:
    write_folder(tmp_path, LLAMA_CONFIG, {})
    tensors = {"lm_head.weight": ("I32", np.zeros((3, 4), np.int32))}
    (tmp_path / "model.safetensors").write_bytes(safetensors(tensors))
    assert error_of(tmp_path) == (
        "model.safetensors: tensor 'lm_head.weight': has the dtype I32; "
        "weights are F32, F16, BF16, F8_E4M3"
    )


@pytest.fixture
def sharded(tmp_path: Path) -> Path:
    tensors = {f"model.layers.{n}.input_layernorm.weight": numbers(5) for n in range(3)}
    return write_folder(tmp_path, LLAMA_CONFIG, tensors, files=3)


def test_a_file_is_missing(sharded: Path) -> None:
    (sharded / "model-00002-of-00003.safetensors").unlink()
    assert error_of(sharded) == (
        "model-00002-of-00003.safetensors: file: does not exist; "
        "model.safetensors.index.json names it"
    )


def test_no_weights_at_all(sharded: Path) -> None:
    (sharded / "model.safetensors.index.json").unlink()
    assert error_of(sharded) == (
        "model.safetensors: file: does not exist, nor does model.safetensors.index.json; "
        "other formats of weights are not read"
    )


@pytest.mark.parametrize(
    ("weight_map", "problem"),
    [
        pytest.param(None, "is not an object that names files", id="missing"),
        pytest.param({"x": "../x.safetensors"}, "names '../x.safetensors', which is no", id="up"),
        pytest.param({"x": ["a"]}, "names '['a']', which is no file in the folder", id="a list"),
        pytest.param({"x": ""}, "names '', which is no file in the folder", id="empty"),
        pytest.param(
            {"x": "model-00001-of-00003.safetensors"},
            "tensor 'x' is not in 'model-00001-of-00003.safetensors'",
            id="a tensor is missing",
        ),
        pytest.param({str(n): f"{n}" for n in range(2000)}, "names 2,000 files, but", id="many"),
    ],
)
def test_an_index_that_cannot_be(sharded: Path, weight_map: Any, problem: str) -> None:
    (sharded / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    assert error_of(sharded).startswith(f"model.safetensors.index.json: weight_map: {problem}")


def test_random_damage(tmp_path: Path) -> None:
    """Each file of a folder, damaged many times: it opens or raises LLMError, in little memory."""
    matrix = numbers(64, WIDTH)
    tensors = {f"{BLOCK}self_attn.{kind}_proj.weight": matrix for kind in "qkv"}
    folder = write_folder(tmp_path, LLAMA_CONFIG, tensors, files=2)
    outcomes: Counter[str] = Counter()
    chance = random.Random(0)
    tracemalloc.start()
    for path in sorted(folder.iterdir()):
        whole = path.read_bytes()
        for _ in range(120):
            damaged = bytearray(whole)
            end = min(len(whole), 600)
            for _ in range(chance.choice([1, 1, 2, 8])):
                damaged[chance.randrange(end)] = chance.choice(b'0129{}[]",:-eE\x00\xff')
            path.write_bytes(damaged[: chance.choice([len(whole), len(whole), end // 2])])
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            try:
                with HuggingFaceFolder.open(str(folder)) as file:
                    for name in file.tensors:
                        file.data(name)
                outcomes["opened"] += 1
            except LLMError as error:
                assert str(folder) in str(error)
                assert "\n" not in str(error)
                outcomes[type(error).__name__] += 1
            assert tracemalloc.get_traced_memory()[1] - before < 16 << 20
        path.write_bytes(whole)
    tracemalloc.stop()
    assert outcomes["ModelFileError"] > 200
    assert outcomes["opened"] > 20
