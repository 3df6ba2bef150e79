"""Times llama.cpp on one GGUF file and prints one JSON object.

    python llama_cpp.py FILE PROMPT_TOKENS TOKENS POSITION [POSITION…]

For a Python with the wheel cyllama-vulkan (or cyllama, for the CPU); it imports nothing of ours.
The model's vocabulary must have 5,300 tokens or more.
What is timed is what `./llm bench` times: reading a prompt, and a token a call after some tokens,
flash attention on, everything on the GPU, medians of repeated runs after a warm-up. No token is
chosen: that costs llama.cpp little, and nothing here.
"""

import json
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from statistics import median

import cyllama.llama.llama_cpp as llama

RUNS = 3  # measured ones, after a warm-up
SPREAD = 5000  # different ids, as in our prompts
BATCH, SMALL_BATCH = 2048, 512  # llama.cpp's own defaults
FLASH_ATTENTION = 1
ALL_LAYERS = 999


def main() -> None:
    path = sys.argv[1]
    prompt_tokens, tokens, *positions = map(int, sys.argv[2:])
    llama.disable_logging()
    llama.ggml_backend_load_all()
    llama.llama_backend_init()
    devices = llama.ggml_backend_dev_info()
    longest = max(prompt_tokens, *positions)
    started = time.perf_counter()
    context = _context(path, longest + tokens)
    load_seconds = time.perf_counter() - started
    prompt = [300 + index * 7919 % SPREAD for index in range(longest)]
    rates = [_read(context, prompt[:prompt_tokens]) for _ in range(1 + RUNS)][1:]
    decodes = []
    for position in positions:
        runs = []
        for _ in range(1 + RUNS):
            _read(context, prompt[:position])
            runs.append(_decode(context, position, tokens))
        decodes.append({"position": position, "tps": median(runs[1:])})
    gpus = [device["description"] for device in devices if device["type"] != "CPU"]
    facts = {
        "device": ", ".join(gpus or [device["description"] for device in devices]),
        "version": _version(),
        "load_s": load_seconds,
        "prompt_tps": median(rates),
        "decode": decodes,
    }
    print(json.dumps(facts), flush=True)


def _context(path: str, length: int) -> "llama.LlamaContext":
    model_params = llama.LlamaModelParams()
    model_params.n_gpu_layers = ALL_LAYERS
    params = llama.LlamaContextParams()
    params.n_ctx = length + 64
    params.n_batch, params.n_ubatch = BATCH, SMALL_BATCH
    params.flash_attn_type = FLASH_ATTENTION
    return llama.LlamaContext(llama.LlamaModel(path, model_params), params)


def _read(context: "llama.LlamaContext", prompt: list[int]) -> float:
    """Reads a prompt into an empty cache; tokens a second."""
    context.kv_cache_clear()
    started = time.perf_counter()
    for start in range(0, len(prompt), BATCH):
        context.decode(llama.llama_batch_get_one(prompt[start : start + BATCH], start))
    context.synchronize()
    return len(prompt) / (time.perf_counter() - started)


def _decode(context: "llama.LlamaContext", position: int, count: int) -> float:
    """Runs so many tokens one after the other; tokens a second."""
    started = time.perf_counter()
    for index in range(count):
        context.decode(llama.llama_batch_get_one([300 + index], position + index))
        context.synchronize()
    return count / (time.perf_counter() - started)


def _version() -> str:
    for name in ("cyllama-vulkan", "cyllama"):
        try:
            return f"{name} {version(name)}"
        except PackageNotFoundError:
            continue
    return "unknown"


if __name__ == "__main__":
    main()
