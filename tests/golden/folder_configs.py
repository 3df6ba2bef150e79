"""config.json of small models, written as those of published folders, by case."""

from typing import Any

from folder_encoders import ENCODERS

_SIZES: dict[str, Any] = {
    "vocab_size": 300,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False,
    "bos_token_id": 2,
    "eos_token_id": 1,
    "pad_token_id": 0,
}
_VISION: dict[str, Any] = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 16,
    "patch_size": 8,
}
_WINDOWS = ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"]
_EXPERTS: dict[str, Any] = {"num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 40}


def _text(model_type: str, **further: Any) -> dict[str, Any]:
    return {"model_type": model_type, **_SIZES, **further}


_GPT_OSS = _text(
    "gpt_oss",
    head_dim=16,
    intermediate_size=64,
    num_local_experts=6,
    experts_per_token=2,
    num_experts_per_tok=2,
    sliding_window=5,
    layer_types=["sliding_attention", "full_attention"] * 2,
    swiglu_limit=7.0,
    rope_theta=150000,
    rope_scaling={
        "rope_type": "yarn",
        "factor": 4.0,
        "beta_fast": 32.0,
        "beta_slow": 1.0,
        "original_max_position_embeddings": 32,
        "truncate": False,
    },
)
_GEMMA3 = _text(
    "gemma3_text",
    head_dim=16,
    query_pre_attn_scalar=16,
    num_hidden_layers=7,
    sliding_window=5,
    sliding_window_pattern=6,
    rope_theta=1e6,
    rope_local_base_freq=1e4,
    rope_scaling={"rope_type": "linear", "factor": 8.0},
    tie_word_embeddings=True,
)
_GEMMA4_ROPE = {
    "full_attention": {
        "rope_type": "proportional",
        "partial_rotary_factor": 0.25,
        "rope_theta": 1e6,
    },
    "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
}
_GEMMA4 = _text(
    "gemma4_text",
    head_dim=16,
    global_head_dim=32,
    num_hidden_layers=6,
    num_kv_shared_layers=2,
    num_global_key_value_heads=None,
    attention_k_eq_v=False,
    use_double_wide_mlp=True,
    hidden_size_per_layer_input=24,
    vocab_size_per_layer_input=300,
    final_logit_softcapping=3.0,
    sliding_window=5,
    layer_types=["sliding_attention", "full_attention"] * 3,
    rope_parameters=_GEMMA4_ROPE,
    enable_moe_block=False,
    num_experts=None,
    tie_word_embeddings=True,
)
_QWEN3_5 = _text(
    "qwen3_5_text",
    head_dim=24,
    attn_output_gate=True,
    full_attention_interval=4,
    layer_types=["linear_attention"] * 3 + ["full_attention"],
    linear_conv_kernel_dim=4,
    linear_key_head_dim=16,
    linear_value_head_dim=16,
    linear_num_key_heads=2,
    linear_num_value_heads=6,
    mtp_num_hidden_layers=0,
    rope_parameters={
        "rope_type": "default",
        "rope_theta": 1e7,
        "partial_rotary_factor": 0.5,
        "mrope_interleaved": True,
        "mrope_section": [2, 2, 2],
    },
)
_LFM2 = {key: value for key, value in _SIZES.items() if key != "intermediate_size"} | {
    "model_type": "lfm2",
    "block_auto_adjust_ff_dim": True,
    "block_ff_dim": 144,
    "block_ffn_dim_multiplier": 1.1,
    "block_multiple_of": 32,
    "conv_L_cache": 3,
    "conv_bias": False,
    "full_attn_idxs": [1, 3],
    "norm_eps": 1e-5,
    "rope_theta": 1e6,
    "tie_word_embeddings": True,
}
_COHERE = {
    "layer_norm_eps": 1e-5,
    "logit_scale": 0.25,
    "rope_theta": 1e4,
    "tie_word_embeddings": True,
}
_GRANITE = {
    "embedding_multiplier": 12.0,
    "attention_multiplier": 0.2,
    "residual_multiplier": 0.22,
    "logits_scaling": 6.0,
    "num_local_experts": 6,
    "num_experts_per_tok": 2,
    "rope_theta": 1e4,
    "tie_word_embeddings": True,
}
_LLAMA3 = {
    "rope_type": "llama3",
    "factor": 16.0,
    "high_freq_factor": 4.0,
    "low_freq_factor": 1.0,
    "original_max_position_embeddings": 32,
}
_GEMMA3N = _text(
    "gemma3n_text",
    hidden_size=32,
    head_dim=8,
    intermediate_size=[416] * 25,
    num_hidden_layers=25,
    num_kv_shared_layers=5,
    sliding_window=5,
    layer_types=(["sliding_attention"] * 4 + ["full_attention"]) * 5,
    activation_sparsity_pattern=[0.95] * 10 + [0.0] * 15,
    altup_num_inputs=4,
    altup_active_idx=0,
    altup_correct_scale=True,
    altup_coef_clip=120.0,
    laurel_rank=8,
    hidden_size_per_layer_input=8,
    vocab_size_per_layer_input=300,
    final_logit_softcapping=30.0,
    rope_theta=1e6,
    rope_local_base_freq=1e4,
    tie_word_embeddings=True,
)
CONFIGS: dict[str, dict[str, Any]] = {
    "llama": _text("llama", rope_theta=5e5, rope_scaling=_LLAMA3),
    "qwen2": _text("qwen2", rope_theta=1e6, tie_word_embeddings=True),
    "qwen3": _text("qwen3", rope_theta=1e6, head_dim=24),
    "phi3": _text(
        "phi3",
        rope_theta=1e4,
        original_max_position_embeddings=16,
        rope_scaling={
            "type": "longrope",
            "short_factor": [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7],
            "long_factor": [1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5],
        },
    ),
    "gemma": _text("gemma", head_dim=24, rope_theta=1e4, tie_word_embeddings=True),
    "gemma2": _text(
        "gemma2",
        head_dim=16,
        query_pre_attn_scalar=16,
        sliding_window=5,
        attn_logit_softcapping=5.0,
        final_logit_softcapping=3.0,
        rope_theta=1e4,
        tie_word_embeddings=True,
    ),
    "granite": _text("granite", **{k: v for k, v in _GRANITE.items() if "experts" not in k}),
    "smollm3": _text("smollm3", rope_theta=5e6, no_rope_layers=[1, 1, 1, 0]),
    "gpt_oss": _GPT_OSS,
    "gpt_oss, MXFP4": _GPT_OSS
    | {"quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}},
    "gemma3_text": _GEMMA3,
    "gemma3": {
        "model_type": "gemma3",
        "text_config": _GEMMA3,
        "vision_config": _VISION | {"model_type": "siglip_vision_model"},
        "mm_tokens_per_image": 1,
    },
    "gemma4_text": _GEMMA4,
    "gemma4_text, values of keys": _GEMMA4
    | {
        "num_kv_shared_layers": 0,
        "num_global_key_value_heads": 1,
        "attention_k_eq_v": True,
        "use_double_wide_mlp": False,
        "hidden_size_per_layer_input": 0,
    },
    "gemma4": {
        "model_type": "gemma4",
        "text_config": _GEMMA4,
        "vision_config": {
            "model_type": "gemma4_vision",
            "hidden_size": 16,
            "intermediate_size": 16,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
            "head_dim": 8,
            "patch_size": 4,
            "position_embedding_size": 16,
        },
        "audio_config": None,
    },
    "qwen3_5_text": _QWEN3_5,
    "qwen3_5": {
        "model_type": "qwen3_5",
        "text_config": _QWEN3_5,
        "vision_config": {
            "model_type": "qwen3_5",
            "depth": 1,
            "hidden_size": 16,
            "intermediate_size": 16,
            "num_heads": 2,
            "patch_size": 4,
            "out_hidden_size": 64,
            "num_position_embeddings": 16,
        },
    },
    "lfm2": _LFM2,
    "qwen2_moe": _text(
        "qwen2_moe",
        **_EXPERTS,
        rope_theta=1e6,
        shared_expert_intermediate_size=48,
        decoder_sparse_step=1,
        mlp_only_layers=[],
        norm_topk_prob=False,
    ),
    "qwen3_moe": _text(
        "qwen3_moe",
        **_EXPERTS,
        head_dim=24,
        rope_theta=1e6,
        norm_topk_prob=True,
        mlp_only_layers=[],
    ),
    "mixtral": _text("mixtral", rope_theta=1e6, num_local_experts=6, num_experts_per_tok=2),
    "olmoe": _text(
        "olmoe", num_experts=6, num_experts_per_tok=2, rope_theta=1e4, norm_topk_prob=False
    ),
    "granitemoe": _text("granitemoe", **_GRANITE),
    "granitemoeshared": _text("granitemoeshared", **_GRANITE, shared_intermediate_size=48),
    "olmo2": _text("olmo2", rope_theta=5e5),
    "olmo3": _text(
        "olmo3",
        rope_theta=5e5,
        sliding_window=5,
        layer_types=_WINDOWS,
        rope_scaling={
            "rope_type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": 32,
            "attention_factor": 1.2,
            "beta_fast": 32.0,
            "beta_slow": 1.0,
        },
    ),
    "exaone": {
        "model_type": "exaone",
        "vocab_size": 300,
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "max_position_embeddings": 128,
        "layer_norm_epsilon": 1e-5,
        "activation_function": "silu",
        "rope_theta": 1e6,
        "rope_scaling": _LLAMA3,
        "tie_word_embeddings": False,
    },
    "exaone4": _text(
        "exaone4",
        rope_theta=1e6,
        rope_scaling=_LLAMA3,
        sliding_window=None,
        layer_types=["full_attention"] * 4,
    ),
    "exaone4, windows": _text(
        "exaone4",
        rope_theta=1e6,
        rope_scaling=_LLAMA3,
        sliding_window=5,
        sliding_window_pattern="LLLG",
        layer_types=_WINDOWS,
    ),
    "glm4": _text(
        "glm4", head_dim=16, rope_theta=1e4, partial_rotary_factor=0.5, attention_bias=True
    ),
    "cohere": _text("cohere", **_COHERE),
    "cohere2": _text("cohere2", **_COHERE, sliding_window=5, sliding_window_pattern=4),
    "ernie4_5": _text("ernie4_5", head_dim=16, rope_theta=5e5, use_bias=False),
    "starcoder2": _text("starcoder2", norm_epsilon=1e-5, rope_theta=1e5, use_bias=True),
    "stablelm": _text(
        "stablelm",
        layer_norm_eps=1e-5,
        rope_theta=1e4,
        partial_rotary_factor=0.25,
        use_qkv_bias=True,
    ),
    "mistral3": {
        "model_type": "mistral3",
        "text_config": _text("mistral", head_dim=16, rope_theta=1e9),
        "vision_config": _VISION | {"model_type": "pixtral", "head_dim": 8},
        "spatial_merge_size": 1,
        "tie_word_embeddings": False,
    },
    "mistral3, Ministral": {
        "model_type": "mistral3",
        "text_config": _text(
            "ministral3",
            head_dim=16,
            rope_parameters={
                "rope_type": "yarn",
                "type": "yarn",
                "rope_theta": 1e6,
                "factor": 16.0,
                "beta_fast": 32.0,
                "beta_slow": 1.0,
                "mscale": 1.0,
                "mscale_all_dim": 1.0,
                "original_max_position_embeddings": 8,
                "llama_4_scaling_beta": 0.1,
            },
        ),
        "vision_config": _VISION | {"model_type": "pixtral", "head_dim": 8},
        "spatial_merge_size": 1,
        "tie_word_embeddings": False,
    },
    "gemma3n_text": _GEMMA3N,
    **ENCODERS,
    "gemma3_text, embedding": _GEMMA3 | {"use_bidirectional_attention": True, "sliding_window": 10},
}

# Parts of the names of weights that are a tenth of the others: of 25 layers each would make what
# rounding changes twice as large.
SMALLER = {"gemma3n_text": ["_coefs", "post_"]}
MXFP4_CASES = ("gpt_oss, MXFP4",)
OF_SEVERAL_SENSES = ("gemma3", "gemma4", "mistral3", "mistral3, Ministral", "qwen3_5")
