"""Next-token distributions, and vectors of texts, as llama.cpp has them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xllamacpp
from support.random_model import VOCABULARY

Adapters = Sequence[tuple[Path, float]]  # LoRA files and their weights


def distributions(
    path: Path, tokens: Sequence[int], adapters: Adapters = ()
) -> tuple[np.ndarray, np.ndarray]:
    """Ids and log probabilities, the likeliest first, after each token of a random model's text.

    Both are (positions, V). All in float32: flash attention would round keys and queries to
    float16, whatever the cache holds.
    """
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = 96
    params.n_parallel = 1
    params.warmup = False
    params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    # Threads that wait for each other spin; one is quickest where others have the cores too.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.lora_adapters = [
        xllamacpp.CommonAdapterLoraInfo(str(adapter), weight) for adapter, weight in adapters
    ]
    server = xllamacpp.Server(params)
    ids, log_probabilities = [], []
    for count in range(1, len(tokens) + 1):
        answer = server.handle_completions(
            {
                "prompt": list(tokens[:count]),
                "n_predict": 1,
                "n_probs": VOCABULARY,
                "temperature": 0,
                # The answer must be text, or it has no row; what is reported comes before the bias.
                "logit_bias": [[VOCABULARY - 1, 1000.0]],
            }
        )
        best = answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        ids.append([entry["id"] for entry in best])
        log_probabilities.append([entry["logprob"] for entry in best])
    return np.array(ids), np.array(log_probabilities)


POOLING = {
    "mean": xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN,
    "first": xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_CLS,
    "last": xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_LAST,
    "auto": xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_UNSPECIFIED,
}


def embeddings(path: Path, texts: Sequence[str], pooling: str, context: int = 96) -> np.ndarray:
    """Of each text a vector of length 1, (N, C)."""
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = params.n_batch = params.n_ubatch = context  # a text is pooled in one batch
    params.n_parallel = 1
    params.warmup = False
    params.embedding = True
    params.pooling_type = POOLING[pooling]
    answer = xllamacpp.Server(params).handle_embeddings({"input": list(texts)})
    return np.array([found["embedding"] for found in answer["data"]])
