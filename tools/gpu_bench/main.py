"""The command line: which steps, on which models."""

import argparse
import contextlib
import json
import os
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from gpu_bench import results, synthetic, table, template
from gpu_bench.measure import (
    MeasureError,
    Work,
    llama_python,
    measure_llama_cpp,
    measure_ours,
    screen,
)
from gpu_bench.shapes import SHAPES, USUAL
from llm.commands.arguments import number_in, numbers_from
from setup.engine_process import INTERRUPTED
from setup.paths import ROOT
from setup.report import SetupError, say

STEPS = {
    "files": "write the model files that are missing",
    "pack": "make the template with its pack",
    "ours": "measure our executors in it",
    "llama": "measure llama.cpp, for each model right after ours",
    "table": "print the tables of all that was measured, and write table.json",
}
EXECUTORS = ("persistent", "dispatch")
FOLDER = ROOT / "build" / "gpu_bench"


def main(words: Sequence[str]) -> int:
    """Returns 0, or 1 where something could not be measured, or the status of Ctrl-C."""
    options = _options(words)
    try:
        return _run(options)
    except SetupError as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED


def _options(words: Sequence[str]) -> Namespace:
    steps = "\n".join(f"  {name:<6} {text}" for name, text in STEPS.items())
    parser = argparse.ArgumentParser(
        "gpu_bench",
        usage="%(prog)s [STEP…] [OPTIONS…]",
        description="Measures this project and llama.cpp on the same files. Steps; all of them, and"
        f" earlier results forgotten, where none is named:\n{steps}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    count, absolute = number_in(int, 1), lambda text: Path(os.path.abspath(text))
    add = parser.add_argument
    add("steps", nargs="*", metavar="STEP", help=argparse.SUPPRESS)
    add(
        "--model",
        action="append",
        metavar="NAME|FILE",
        help=f"may be given again; a GGUF file or a shape, of {', '.join(SHAPES)} "
        f"(default: {', '.join(USUAL)})",
    )
    add("--models", type=absolute, metavar="FOLDER", help="where files of shapes are")
    add(
        "--executor",
        action="append",
        choices=(*EXECUTORS, "reference"),
        help=f"may be given again (default: {', '.join(EXECUTORS)})",
    )
    add("--prompt-tokens", type=count, default=512, metavar="N")
    add("--tokens", type=count, default=128, metavar="N", help="length of an answer")
    add("--positions", type=numbers_from(1), metavar="N[,N…]", help="tokens before the answers")
    add("--repeat", type=count, default=3, metavar="N", help="runs of each engine on each model")
    add("--limit", type=number_in(float, 1), default=300.0, metavar="S", help="of one run")
    add("--profile", action="store_true", help="keep, with the first run, where its time goes")
    add("--template", metavar="PROGRAM", help="Godot's release template (default: on PATH)")
    add("--venv", type=absolute, help="with requirements.txt in it (default: that of ./llm)")
    add("--llama-python", metavar="COMMAND", help="a Python with llama.cpp (default: this one)")
    add("--folder", type=absolute, default=FOLDER, help="for all that is made (build/gpu_bench)")
    options = parser.parse_args(words)
    for step in options.steps:
        if step not in STEPS:
            parser.error(f"there is no step '{step}'; the steps are {', '.join(STEPS)}")
    return options


def _run(options: Namespace) -> int:
    folder: Path = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / "results.jsonl"
    if not options.steps:
        options.steps = list(STEPS)
        record.unlink(missing_ok=True)
    works = [_work(name, options) for name in options.model or USUAL]
    failures = 0
    if "pack" in options.steps:
        template.make(folder, options.template, options.venv)
    with contextlib.ExitStack() as stack:
        variables: dict[str, str] = {}
        if "ours" in options.steps:
            variables = stack.enter_context(screen(template.made_in(folder)))
        for work in works:
            if "files" in options.steps and work.name in SHAPES:
                synthetic.ensure(work.path, SHAPES[work.name])
            for engine, measure in _measurements(options, work, variables):
                say(f"{work.name}: {engine}")
                try:
                    found = measure()
                except MeasureError as error:
                    failures += 1
                    print(f"  {engine} on {work.name}: {error}", file=sys.stderr, flush=True)
                    continue
                results.append(record, _record(work, engine, found))
                print(f"  {_brief(found)}", file=sys.stderr, flush=True)
    if "table" in options.steps:
        failures += _show(record, folder / "table.json")
    return 1 if failures else 0


def _measurements(
    options: Namespace, work: Work, variables: dict[str, str]
) -> Iterator[tuple[str, partial[dict[str, Any]]]]:
    """Engines by turns, so that what changes on the machine meanwhile meets all of them."""
    if not work.path.exists() and {"ours", "llama"} & set(options.steps):
        raise SetupError(f"there is no {work.path}: the step files writes files of shapes")
    for repeat in range(options.repeat):
        if "ours" in options.steps:
            log = options.folder / "engine.log"
            packed = template.made_in(options.folder)
            for executor in options.executor or EXECUTORS:
                yield (
                    executor,
                    partial(
                        measure_ours,
                        packed,
                        variables,
                        executor,
                        work,
                        log,
                        options.limit,
                        profile=options.profile and repeat == 0,
                    ),
                )
        if "llama" in options.steps:
            python = llama_python(options.llama_python)
            yield results.LLAMA_CPP, partial(measure_llama_cpp, python, work, options.limit)


def _work(name: str, options: Namespace) -> Work:
    shape = SHAPES.get(name)
    if shape is None:
        path = Path(os.path.abspath(os.path.expanduser(name)))
    else:
        path = (options.models or options.folder / "models") / f"{name}.gguf"
    positions: tuple[int, ...] = (options.prompt_tokens,) if shape is None else shape.positions
    return Work(
        path.stem, path, options.prompt_tokens, options.tokens, options.positions or positions
    )


def _record(work: Work, engine: str, found: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": work.name,
        "file_bytes": work.path.stat().st_size,
        **found,
        "engine": engine,
        "prompt_tokens": work.prompt_tokens,
        "tokens": work.tokens,
    }


def _brief(found: dict[str, Any]) -> str:
    decodes = ", ".join(
        f"decode at {answer['position']} {answer['tps']:,.1f}" for answer in found["decode"]
    )
    status = found["status"]
    ending = "" if status == 0 else f" (and then it ended with status {status})"
    return (
        f"prompt {found['prompt_tps']:,.1f}, {decodes} tokens/s; "
        f"loaded in {found['load_s']:.2f} s{ending}"
    )


def _show(record: Path, target: Path) -> int:
    summaries = results.summarize(results.read(record))
    if not summaries:
        say(f"nothing was measured: there is no {record}")
        return 1
    target.write_text(json.dumps(table.as_json(summaries), indent=1) + "\n", encoding="utf-8")
    print(table.as_text(summaries), end="", flush=True)
    return 0
