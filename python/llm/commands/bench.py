"""`./llm bench`: prompt and answer tokens a second of a model, on one executor."""

import json
import time
from dataclasses import asdict
from statistics import median
from typing import Any

from llm.commands.arguments import parse
from llm.commands.loading import loaded
from llm.commands.output import Output, reports_errors
from llm.errors import RequestError
from llm.generate.model import Model
from llm.gpu.profile import RunProfile
from llm.gpu.sampler import GREEDY

RUNS = 3  # measured ones, after a warm-up
SPREAD = 5000  # prompts take that many different ids, as llama.cpp's bench here does


@reports_errors
def main(node: Any, args: list[str]) -> int:
    del node
    options = parse("bench", args)
    output = Output()
    context = options.prompt_tokens + options.tokens
    started = time.perf_counter()
    with loaded(options.model, options.executor, context_length=context) as model:
        if context > model.context_length:
            raise RequestError(
                f"--prompt-tokens and --tokens are {context:,} together; the model's context holds "
                f"{model.context_length:,}"
            )
        load_seconds = time.perf_counter() - started
        prompt = _prompt(model, options.prompt_tokens)
        runs = [_run(model, prompt, options.tokens) for _ in range(1 + RUNS)][1:]
        facts = {
            "model": model.name,
            "executor": model.executor,
            "device": model.device,
            "prompt_tokens": len(prompt),
            "tokens": options.tokens,
            "runs": RUNS,
            "load_s": load_seconds,
            "first_token_s": median(first for first, _ in runs),
            "prompt_tps": median(len(prompt) / first for first, _ in runs),
            "decode_tps": median(decode for _, decode in runs),
            "memory_bytes": model.memory_bytes,
            "token_bytes": model.token_bytes,
        }
        profiles = _profiles(model, prompt) if options.profile else {}
    if options.json:
        facts |= {"profile": {name: asdict(found) for name, found in profiles.items()}}
        output.write(json.dumps(facts) + "\n")
    else:
        output.write(
            f"{facts['model']} on {facts['executor']} ({facts['device']}), "
            f"{facts['memory_bytes'] / 1e6:,.0f} MB, loaded in {load_seconds:.2f} s\n"
            f"prompt  {facts['prompt_tps']:10,.1f} tokens/s  ({len(prompt)} tokens)\n"
            f"decode  {facts['decode_tps']:10,.1f} tokens/s  ({options.tokens} tokens), "
            f"{facts['decode_tps'] * model.token_bytes / 1e9:,.1f} GB/s of weights\n"
            f"medians of {RUNS} runs after a warm-up\n"
        )
        for name, found in profiles.items():
            output.write(_table(name, found))
    return 0


def _profiles(model: Model, prompt: list[int]) -> dict[str, RunProfile]:
    """Of one token after the prompt, and of as many prompt tokens as run at once."""
    chunk = prompt[: model.chunk_size]
    return {
        "a token": model.profile(prompt[:1], len(prompt)),
        f"{len(chunk)} tokens of a prompt": model.profile(chunk, 0),
    }


def _table(name: str, profile: RunProfile) -> str:
    lines = [f"\n{name}: {profile.dependent_steps} dependent steps; each kind of work alone:\n"]
    for work in profile.times:
        total = work.count * work.microseconds / 1000
        lines.append(
            f"{total:10.3f} ms  {work.count:4} x {work.microseconds:10.1f} us  {work.what}\n"
        )
    return "".join(lines)


def _prompt(model: Model, count: int) -> list[int]:
    """Ids all over the vocabulary: what they say does not matter to the speed."""
    size = model.tokenizer.vocab_size
    return [(300 + index * 7919 % SPREAD) % size for index in range(count)]


def _run(model: Model, prompt: list[int], count: int) -> tuple[float, float]:
    """Seconds to the first token, and tokens a second after it, greedy."""
    started = time.perf_counter()
    for start in range(0, len(prompt), model.chunk_size):
        ids = prompt[start : start + model.chunk_size]
        last = start + len(ids) == len(prompt)
        model.forward(ids, start, [len(ids) - 1] if last else [])
    token = int(model.candidates(1).ids[0])
    first = time.perf_counter()
    model.decode(token, len(prompt), count, GREEDY, ())
    return first - started, count / (time.perf_counter() - first)
