"""Our speed on a software Vulkan driver against llama.cpp's on the same cores, by turns.

    .venv/bin/python tests/bench/software_driver.py [MODEL.gguf]

Each engine has a process of its own for every turn and all of the CPU's cores. Prints medians and
their ratios. Status 1 where decoding is slower than a quarter of llama.cpp, 2 where `./llm bench`
found a GPU. Nothing else should run meanwhile.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[2]
MODEL = ROOT / ".models" / "gemma-3-270m-q4_k_m.gguf"
PROMPT_TOKENS, TOKENS = 200, 64
TURNS = 3
SHARE = 0.25  # of llama.cpp's speed, that decoding must reach


def ours(model: Path) -> dict[str, Any]:
    command = [str(ROOT / "llm"), "bench", "--json", "--executor", "dispatch"]
    sizes = ["--prompt-tokens", str(PROMPT_TOKENS), "--tokens", str(TOKENS), "--model", str(model)]
    done = subprocess.run([*command, *sizes], stdout=subprocess.PIPE, text=True, check=True)
    facts = json.loads(done.stdout.strip().splitlines()[-1])
    decode = facts["decode"][0]["tps"]
    return {"device": facts["device"], "prompt": facts["prompt_tps"], "decode": decode}


def llama_cpp(model: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, str(model), "--llama-cpp"]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True
    )
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def run_llama_cpp(model: Path) -> dict[str, float]:
    """Tokens a second of one request after a warm-up."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.n_ctx = PROMPT_TOKENS + TOKENS + 64
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = os.cpu_count() or 1
    server = xllamacpp.Server(params)
    request = {
        "prompt": [300 + i * 7919 % 5000 for i in range(PROMPT_TOKENS)],  # as ./llm bench has it
        "n_predict": TOKENS,
        "temperature": 0,
        "ignore_eos": True,
        "cache_prompt": False,
    }
    for _ in range(2):
        times = server.handle_completions(request)["timings"]
    assert (times["prompt_n"], times["predicted_n"]) == (PROMPT_TOKENS, TOKENS)
    return {"prompt": times["prompt_per_second"], "decode": times["predicted_per_second"]}


def main() -> int:
    arguments = sys.argv[1:]
    is_llama_cpp = "--llama-cpp" in arguments
    model = Path(next((name for name in arguments if name != "--llama-cpp"), MODEL)).resolve()
    if is_llama_cpp:
        print(json.dumps(run_llama_cpp(model)))
        return 0
    turns = []
    for _ in range(TURNS):
        turns.append((ours(model), llama_cpp(model)))
        if "llvmpipe" not in turns[-1][0]["device"]:
            print(
                f"software_driver: ./llm bench ran on {turns[-1][0]['device']}; set VK_DRIVER_FILES"
            )
            return 2
    print(f"{model.name}, {os.cpu_count()} cores, medians of {TURNS} turns, tokens/s")
    for kind in ("prompt", "decode"):
        own, other = (median(turn[engine][kind] for turn in turns) for engine in (0, 1))
        ratio = median(own[kind] / other[kind] for own, other in turns)
        print(f"{kind:8} ours {own:7.1f}   llama.cpp {other:7.1f}   ratio {ratio:.2f}")
    return 0 if ratio >= SHARE else 1


if __name__ == "__main__":
    sys.exit(main())
