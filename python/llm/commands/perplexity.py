"""`./llm perplexity`: how well a model predicts a text, and the logits of every position."""

import json
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from llm.commands.arguments import parse
from llm.commands.loading import loaded
from llm.commands.logits_file import LogitsFile
from llm.commands.output import Output, reports_errors
from llm.commands.text_file import read_text
from llm.generate.perplexity import perplexity, score_chunks

ROWS = 32  # rows of logits at a time; each takes 4 bytes a token of the vocabulary


@reports_errors
def main(node: Any, args: list[str]) -> int:
    del node
    options = parse("perplexity", args)
    output = Output()
    text = read_text("--file", options.file)
    with (
        _logits_file(options.save_logits) as logits_file,
        loaded(
            options.model,
            options.executor,
            quantize=options.quantize,
            max_outputs=ROWS,
            chunk_rows=ROWS,
        ) as model,
    ):
        tokens = model.tokenizer.encode(text)[: options.tokens]
        started = time.perf_counter()
        likelihoods = []
        for number, chunk in enumerate(score_chunks(model, tokens), 1):
            likelihoods.append(chunk.negative_log_likelihoods)
            if logits_file is not None:
                size = len(chunk.logits)
                logits_file.append(chunk.logits, len(tokens) // size * size)
            if not options.json:
                so_far = perplexity(np.concatenate(likelihoods))
                output.note(f"chunk {number}: perplexity {so_far.value:.4f}\n")
        seconds = time.perf_counter() - started
        result = perplexity(np.concatenate(likelihoods))
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


def _logits_file(path: str | None) -> AbstractContextManager[LogitsFile | None]:
    return nullcontext() if path is None else LogitsFile(path)
