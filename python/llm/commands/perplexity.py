"""`./llm perplexity`: how well a model predicts a text, and the logits of every position."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from llm.commands.arguments import parse
from llm.commands.loading import loaded
from llm.commands.output import Output, reports_errors
from llm.errors import RequestError
from llm.generate.perplexity import perplexity, score_chunks

ROWS = 32  # rows of logits at a time; each takes 4 bytes a token of the vocabulary


@reports_errors
def main(node: Any, args: list[str]) -> int:
    del node
    options = parse("perplexity", args)
    output = Output()
    text = _read(options.file)
    with loaded(options.model, options.executor, max_outputs=ROWS, chunk_rows=ROWS) as model:
        tokens = model.tokenizer.encode(text)[: options.tokens]
        started = time.perf_counter()
        likelihoods, kept = [], []
        for number, chunk in enumerate(score_chunks(model, tokens), 1):
            likelihoods.append(chunk.negative_log_likelihoods)
            if options.save_logits:
                kept.append(chunk.logits)
            if not options.json:
                so_far = perplexity(np.concatenate(likelihoods))
                output.note(f"chunk {number}: perplexity {so_far.value:.4f}\n")
        seconds = time.perf_counter() - started
        result = perplexity(np.concatenate(likelihoods))
        if options.save_logits:
            np.save(options.save_logits, np.concatenate(kept))
        facts = {
            "perplexity": result.value,
            "error": result.error,
            "tokens_scored": result.tokens_scored,
            "tokens": len(tokens),
            "seconds": seconds,
            "executor": model.executor,
            "device": model.device,
        }
    if options.json:
        output.write(json.dumps(facts) + "\n")
    else:
        output.write(
            f"perplexity {result.value:.4f} +/- {result.error:.4f} over {result.tokens_scored} "
            f"tokens ({facts['executor']}, {facts['device']}, {seconds:.1f} s)\n"
        )
    return 0


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(f"--file {path}: {error}") from None
