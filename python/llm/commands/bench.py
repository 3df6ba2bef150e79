"""`./llm bench`: prompt and answer tokens a second of a model, on one executor."""

import json
import os
import time
from dataclasses import asdict
from statistics import median
from typing import Any

from llm.commands.arguments import parse
from llm.commands.loading import loaded
from llm.commands.output import Output, reports_errors
from llm.commands.parallel import parallel_rates
from llm.errors import RequestError
from llm.generate.model import MIN_CONTEXT, WEIGHTS_FROM, Model
from llm.gpu.dispatch.executor import LOADED
from llm.gpu.profile import RunProfile
from llm.gpu.sampler import GREEDY

RUNS = 3  # measured ones, after a warm-up
SPREAD = 5000  # prompts take that many different ids
# The fraction of a load at which all weights are on the GPU.
WEIGHTS_TO = WEIGHTS_FROM + (1 - WEIGHTS_FROM) * LOADED


@reports_errors
def main(node: Any, args: list[str]) -> int:
    del node
    options = parse("bench", args)
    output = Output()
    positions = list(options.positions or [options.prompt_tokens])
    context = max(MIN_CONTEXT, max(options.prompt_tokens, *positions) + options.tokens)
    watch = _LoadWatch()
    with loaded(
        options.model,
        options.executor,
        quantize=options.quantize,
        context_length=context,
        on_progress=watch,
    ) as model:
        load_seconds = watch.seconds
        if context > model.context_length:
            raise RequestError(
                f"--prompt-tokens or --positions, and --tokens, are {context:,} together; the "
                f"model's context holds {model.context_length:,}"
            )
        prompt = _prompt(model, max(options.prompt_tokens, *positions))
        count = options.prompt_tokens
        _read(model, prompt[:count])
        first_token_seconds = watch.seconds
        prompt_seconds = median(_read(model, prompt[:count]) for _ in range(RUNS))
        if len(prompt) > count:
            _read(model, prompt)
        decode = [
            {"position": position, "tps": _decode_rate(model, prompt, position, options.tokens)}
            for position in positions
        ]
        facts = {
            "model": model.name,
            "executor": model.executor,  # after all runs: it may have fallen back
            "device": model.device,
            "prompt_tokens": count,
            "tokens": options.tokens,
            "runs": RUNS,
            "load_s": load_seconds,
            "upload_gbps": watch.upload_rate(model),
            "first_token_s": first_token_seconds,
            "prompt_tps": count / prompt_seconds,
            "decode": decode,
            "memory_bytes": model.memory_bytes,
            "token_bytes": model.token_bytes,
        }
        if options.parallel:
            rates = parallel_rates(model, prompt[:count], options.parallel, options.tokens)
            facts |= {"parallel": rates.facts}
        profiles = _profiles(model, prompt[:count]) if options.profile else {}
    if options.json:
        facts |= {"profile": {name: asdict(found) for name, found in profiles.items()}}
        output.write(json.dumps(facts) + "\n")
    else:
        output.write(_text(facts))
        for name, found in profiles.items():
            output.write(_table(name, found))
    return 0


class _LoadWatch:
    """When a load began, and when its weights were brought to the GPU."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._weights: list[float] = []  # seconds at each report of the weights' progress

    def __call__(self, fraction: float) -> None:
        if WEIGHTS_FROM <= fraction <= WEIGHTS_TO:
            self._weights.append(self.seconds)

    @property
    def seconds(self) -> float:
        """Since the load began."""
        return time.perf_counter() - self._started

    def upload_rate(self, model: Model) -> float | None:
        """10^9 bytes of the file a second; None where no GPU holds the weights."""
        if model.executor == "reference" or len(self._weights) < 2:
            return None
        return os.path.getsize(model.path) / (self._weights[-1] - self._weights[0]) / 1e9


def _text(facts: dict[str, Any]) -> str:
    rate = facts["upload_gbps"]
    uploaded = "" if rate is None else f", uploaded at {rate:.1f} GB/s"
    lines = [
        f"{facts['model']} on {facts['executor']} ({facts['device']}), "
        f"{facts['memory_bytes'] / 1e6:,.0f} MB, loaded in {facts['load_s']:.2f} s{uploaded}",
        f"first token {facts['first_token_s']:.2f} s after the load began",
        f"prompt  {facts['prompt_tps']:10,.1f} tokens/s  ({facts['prompt_tokens']} tokens)",
    ]
    for decode in facts["decode"]:
        lines.append(
            f"decode  {decode['tps']:10,.1f} tokens/s  ({facts['tokens']} tokens after "
            f"{decode['position']}), "
            f"{decode['tps'] * facts['token_bytes'] / 1e9:,.1f} GB/s of weights"
        )
    if parallel := facts.get("parallel"):
        lines.append(
            f"{parallel['answers']} answers at once {parallel['tps']:,.1f} tokens/s, "
            f"{parallel['times']:.2f} times one alone"
        )
    return "\n".join([*lines, f"medians of {facts['runs']} runs after a warm-up"]) + "\n"


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


def _read(model: Model, prompt: list[int]) -> float:
    """Seconds from the prompt's first token to the one after its last."""
    started = time.perf_counter()
    for start in range(0, len(prompt), model.chunk_size):
        ids = prompt[start : start + model.chunk_size]
        last = start + len(ids) == len(prompt)
        model.forward(ids, start, [len(ids) - 1] if last else [])
    model.candidates(1)
    return time.perf_counter() - started


def _decode_rate(model: Model, prompt: list[int], position: int, count: int) -> float:
    """Tokens a second, greedy, after `position` tokens that were read before."""

    def run() -> float:
        started = time.perf_counter()
        model.decode(prompt[position - 1], position, count, GREEDY, ())
        return count / (time.perf_counter() - started)

    return median([run() for _ in range(1 + RUNS)][1:])
