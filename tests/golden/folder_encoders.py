"""config.json of small encoders, and what their folders hold beside the model, by case."""

from typing import Any

_BERT = {
    "hidden_size": 64,
    "vocab_size": 300,
    "max_position_embeddings": 64,
    "type_vocab_size": 2,
    "pad_token_id": 0,
    "hidden_act": "gelu_new",  # published ones have "gelu", which no GGUF file can say
    "model_type": "bert",
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "layer_norm_eps": 1e-12,
    "position_embedding_type": "absolute",
}

ENCODERS: dict[str, dict[str, Any]] = {
    "bert": _BERT,
    "nomic_bert": {  # as its own code calls them; see MADE_WITH
        "model_type": "nomic_bert",
        "n_embd": 64,
        "n_head": 4,
        "n_inner": 96,
        "n_layer": 3,
        "n_positions": 64,
        "vocab_size": 300,
        "type_vocab_size": 2,
        "layer_norm_epsilon": 1e-12,
        "rotary_emb_base": 1000,
        "activation_function": "swiglu",
    },
}


def _dense(inputs: int, outputs: int) -> dict[str, Any]:
    identity = "torch.nn.modules.linear.Identity"
    return {
        "in_features": inputs,
        "out_features": outputs,
        "bias": False,
        "activation_function": identity,
    }


_MEAN: dict[str, Any] = {"word_embedding_dimension": 64, "pooling_mode_mean_tokens": True}
_FIRST: dict[str, Any] = {"word_embedding_dimension": 64, "pooling_mode_cls_token": True}
# Files beside the model's own, by case.
EMBEDDING: dict[str, dict[str, Any]] = {
    "bert": {"1_Pooling/config.json": _FIRST},
    "nomic_bert": {"1_Pooling/config.json": _MEAN},
    "gemma3_text, embedding": {
        "1_Pooling/config.json": _MEAN,
        "2_Dense/config.json": _dense(64, 96),
        "2_Dense/model.safetensors": {"tensors": {"linear.weight": ["F32", [96, 64]]}},
        "3_Dense/config.json": _dense(96, 64),
        "3_Dense/model.safetensors": {"tensors": {"linear.weight": ["F32", [64, 96]]}},
    },
}
# transformers has other names for the settings of these.
MADE_WITH: dict[str, dict[str, Any]] = {
    "nomic_bert": {
        "model_type": "nomic_bert",
        "hidden_size": 64,
        "num_attention_heads": 4,
        "intermediate_size": 96,
        "num_hidden_layers": 3,
        "max_position_embeddings": 64,
        "vocab_size": 300,
        "type_vocab_size": 2,
        "layer_norm_eps": 1e-12,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0},
    },
}
