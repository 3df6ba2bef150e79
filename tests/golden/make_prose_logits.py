"""Writes the golden next-token distributions of prose.txt, from llama.cpp on float32 weights.

    make_prose_logits.py F32_GGUF

F32_GGUF is the default model with every tensor dequantised to float32: llama.cpp on the quantised
file rounds activations to 8 bits and is itself an approximation. For each of the first 400
positions the file keeps the 512 likeliest tokens and their log probabilities; what remains is one
more outcome, "any other token", so a divergence over the 513 outcomes is a sharp lower bound.
"""

import sys
from pathlib import Path

import numpy as np
import xllamacpp

from llm.files.gguf import GgufFile
from llm.text.tokenizer import Tokenizer

POSITIONS = 400
TOKENS_KEPT = 512
HERE = Path(__file__).parent

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx = 1024
params.n_parallel = 1
params.cpuparams.n_threads = 2
params.warmup = False
server = xllamacpp.Server(params)

with GgufFile.open(sys.argv[1]) as file:
    tokenizer = Tokenizer.from_metadata(file.metadata)
tokens = tokenizer.encode((HERE / "prose.txt").read_text())[:POSITIONS]

ids = np.zeros((POSITIONS, TOKENS_KEPT), np.int32)
log_probabilities = np.zeros((POSITIONS, TOKENS_KEPT), np.float32)
for position in range(POSITIONS):
    answer = server.handle_completions(
        {
            "prompt": tokens[: position + 1],
            "n_predict": 1,
            "n_probs": TOKENS_KEPT,
            "temperature": 0,
            "cache_prompt": True,
        }
    )
    best = answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    ids[position] = [entry["id"] for entry in best]
    log_probabilities[position] = [entry["logprob"] for entry in best]
np.savez_compressed(
    HERE / "prose_logits.npz",
    tokens=np.array(tokens, np.int32),
    ids=ids,
    log_probabilities=log_probabilities,
)
