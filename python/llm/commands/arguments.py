"""The options of every command that `./llm` runs inside the engine, in one table.

The launcher parses them on the outside, where a mistake costs no engine start, and hands them in
again with `forward` and `pack`; the command parses the same table inside with `parse`. So this file
imports little beyond the standard library. An option that the user leaves out is None, and whoever
uses it applies its own default.
"""

import argparse
import json
import math
import os
import urllib.parse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from llm.errors import printable
from llm.generate.request import ECHO

_PACKED = "--packed="
FORMATS = ("--json-schema", "--grammar", "--regex", "--choices")  # of one answer
EXECUTORS = ("auto", "reference", "dispatch", "persistent")
QUANTIZED = ("q8_0", "q4_k")
DEMOS = ("shop", "room", "tour")


@dataclass(frozen=True)
class Option:
    """One option: a switch where `convert` is None, a positional where the flag has no dashes."""

    flag: str
    help: str
    convert: Callable[[str], Any] | None = None
    metavar: str | None = None
    default: Any = None
    required: bool = False
    choices: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        """The attribute that holds the value."""
        return self.flag.lstrip("-").replace("-", "_")


@dataclass(frozen=True)
class Command:
    """A command, what it says about itself, and its options."""

    name: str
    help: str
    options: tuple[Option, ...]


def file_path(text: str) -> str:
    """A path as the caller means it: relative to the caller's folder, `~` is home."""
    if not text:
        raise argparse.ArgumentTypeError("a file name is needed")
    return os.path.abspath(os.path.expanduser(text))


def model_path(text: str) -> str:
    """A file, or the model without one."""
    return text if text.startswith(ECHO) else file_path(text)


def json_or_file(text: str) -> str:
    """JSON of an object as it is, or the path of a file that holds it."""
    return text if text.lstrip().startswith("{") else file_path(text)


def number_in(
    kind: type[int] | type[float],
    lowest: float,
    highest: float = float("inf"),
    *,
    above: bool = False,
) -> Callable[[str], float]:
    """A converter that takes lowest <= value <= highest; with `above`, lowest < value."""

    def convert(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            noun = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"'{text}' is not {noun}") from None
        if (
            not math.isfinite(value)
            or not lowest <= value <= highest
            or (above and value == lowest)
        ):
            least = f"more than {lowest:g}" if above else f"{lowest:g} or more"
            most = "" if highest == float("inf") else f", {highest:g} at most"
            raise argparse.ArgumentTypeError(f"{text} is out of range: {least}{most}")
        return value

    return convert


class Numbers(tuple[int, ...]):
    """Whole numbers; as text they stand with commas between, as an option is given."""

    def __str__(self) -> str:
        return ",".join(map(str, self))


def numbers_from(lowest: int) -> Callable[[str], Numbers]:
    """A converter of one whole number or several with commas between, none below `lowest`."""
    convert_one = number_in(int, lowest)
    return lambda text: Numbers(int(convert_one(part)) for part in text.split(","))


class Texts(tuple[str, ...]):
    """As text they stand with commas between, as an option is given."""

    def __str__(self) -> str:
        return ",".join(self)


def texts(text: str) -> Texts:
    """One text or several with commas between."""
    if not all(text.split(",")):
        raise argparse.ArgumentTypeError(f"'{text}' has an empty text")
    return Texts(text.split(","))


class Adapters(tuple[tuple[str, float], ...]):
    """Paths and weights; as text they are as an option is given."""

    def __str__(self) -> str:
        return ",".join(f"{path}:{weight}" for path, weight in self)


def adapters(text: str) -> Adapters:
    """A file, or FILE:WEIGHT, or several with commas between."""
    found = []
    for part in text.split(","):
        path, _, weight = part.rpartition(":")
        try:
            found.append((file_path(path), float(weight)))
        except (ValueError, argparse.ArgumentTypeError):
            found.append((file_path(part), 1.0))
    return Adapters(found)


_MODEL = Option(
    "--model", "a GGUF file or a Hugging Face folder (default: Gemma 3 270M)", file_path, "FILE"
)
_JSON = Option("--json", "print one JSON object on stdout")
_EXECUTOR = Option(
    "--executor",
    "what runs the model: the GPU (persistent, dispatch), numpy (reference), or what works (auto)",
    str,
    default="auto",
    choices=EXECUTORS,
)

_QUANTIZE = Option(
    "--quantize",
    "what float weights become while they load (default: they stay as they are)",
    str,
    choices=QUANTIZED,
)

COMMANDS = {
    command.name: command
    for command in (
        Command(
            "chat",
            "talk to a model: in a window, in the terminal, or one answer with --prompt",
            (
                Option(
                    "--prompt", "answer this, print the answer as it comes, and exit", str, "TEXT"
                ),
                Option("--raw", "continue the prompt as it is, without a chat template"),
                Option(
                    "--model",
                    "a GGUF file or a Hugging Face folder (default: Gemma 3 270M), or echo:TEXT, "
                    "which answers with TEXT",
                    model_path,
                    "FILE",
                ),
                Option(
                    "--lora",
                    "LoRA adapters of the model, and how much each counts (default: 1)",
                    adapters,
                    "FILE[:WEIGHT][,FILE…]",
                ),
                Option("--no-thinking", "answer at once, where the model would think before"),
                Option("--max-tokens", "length of the answer at most", number_in(int, 1), "N"),
                Option("--temperature", "0 takes the likeliest token", number_in(float, 0), "X"),
                Option("--top-k", "keep the k likeliest tokens; 0: all", number_in(int, 0), "N"),
                Option(
                    "--top-p",
                    "keep the likeliest tokens that sum to this; 1: all",
                    number_in(float, 0, 1, above=True),
                    "X",
                ),
                Option(
                    "--min-p",
                    "keep tokens of this share of the likeliest; 0: all",
                    number_in(float, 0, 1),
                    "X",
                ),
                Option("--seed", "same seed, same text", number_in(int, 0, 2**63 - 1), "N"),
                Option(
                    "--json-schema",
                    "the answer is JSON that keeps to this schema: a file, or the schema itself",
                    json_or_file,
                    "FILE|JSON",
                ),
                Option("--grammar", "the answer keeps to this GBNF grammar", file_path, "FILE"),
                Option("--regex", "the whole answer matches this", str, "PATTERN"),
                Option("--choices", "the answer is one of these texts", texts, "TEXT[,TEXT…]"),
                _EXECUTOR,
                _QUANTIZE,
                _JSON,
            ),
        ),
        Command(
            "demo",
            "a scene: a shop whose keeper answers in JSON, a room of four who talk, or a guided "
            "tour of how a model answers",
            (Option("scene", "which one", str, required=True, choices=DEMOS), _MODEL),
        ),
        Command(
            "bench",
            "measure prompt and answer speed: medians of repeated runs after a warm-up",
            (
                _MODEL,
                Option(
                    "--prompt-tokens", "length of the prompt", number_in(int, 1), "N", default=512
                ),
                Option("--tokens", "length of the answer", number_in(int, 1), "N", default=128),
                Option(
                    "--positions",
                    "tokens before the answer; an answer is measured at each (default: the prompt)",
                    numbers_from(1),
                    "N[,N…]",
                ),
                Option(
                    "--parallel",
                    "also measure so many answers at once, each to a prompt of its own",
                    number_in(int, 1),
                    "N",
                ),
                Option("--profile", "show where the time of a token and of a prompt goes"),
                _EXECUTOR,
                _QUANTIZE,
                _JSON,
            ),
        ),
        Command(
            "perplexity",
            "how well a model predicts a text, by llama.cpp's definition",
            (
                Option("--file", "a text file", file_path, "TXT", required=True),
                _MODEL,
                Option("--tokens", "use the text's first tokens only", number_in(int, 2), "N"),
                Option(
                    "--save-logits",
                    "write the logits of every position as a numpy array",
                    file_path,
                    "F.npy",
                ),
                _EXECUTOR,
                _QUANTIZE,
                _JSON,
            ),
        ),
        Command(
            "info",
            "what a model file holds, and whether it fits; needs no engine",
            (
                Option(
                    "file",
                    "a GGUF file, the first of a split one, or a Hugging Face folder",
                    file_path,
                    "FILE",
                    required=True,
                ),
                Option(
                    "--context", "tokens that room is for", number_in(int, 16), "N", default=4096
                ),
                _QUANTIZE,
                _JSON,
            ),
        ),
        Command("models", "what is known to run, and the test that shows it", (_JSON,)),
    )
}


class _Parser(argparse.ArgumentParser):
    """Says a mistake in one line and ends with status 2."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {printable(message)} (try {self.prog} --help)\n")


def parser(command: Command) -> argparse.ArgumentParser:
    """The parser of one command."""
    result = _Parser(f"llm {command.name}", description=command.help, allow_abbrev=False)
    for option in command.options:
        settings: dict[str, Any] = {"help": option.help}
        if option.convert is None:
            settings["action"] = "store_true"
        else:
            settings.update(type=option.convert, metavar=option.metavar, choices=option.choices)
            settings["default"] = option.default
        if option.required and option.flag.startswith("-"):
            settings["required"] = True
        result.add_argument(option.flag, **settings)
    return result


def parse(name: str, arguments: Sequence[str]) -> argparse.Namespace:
    """The options of command `name`. A mistake is one line on stderr and SystemExit(2)."""
    reader = parser(COMMANDS[name])
    options = reader.parse_args(_unpack(arguments))
    if name == "chat" and options.prompt is None:
        for flag in ("--raw", "--json", *FORMATS):
            if getattr(options, flag.lstrip("-").replace("-", "_")):
                reader.error(f"{flag} needs --prompt")
    elif name == "chat" and not (options.prompt if options.raw else options.prompt.strip()):
        reader.error("argument --prompt: it is empty")
    return options


def forward(name: str, options: argparse.Namespace) -> list[str]:
    """Arguments that `parse` reads back as the same options, whatever folder it runs in."""
    arguments: list[str] = []
    positionals: list[str] = []
    for option in COMMANDS[name].options:
        value = getattr(options, option.name)
        if value is None or value is False:
            continue
        if not option.flag.startswith("-"):
            positionals.append(str(value))
        elif value is True:
            arguments.append(option.flag)
        else:
            arguments.append(f"{option.flag}={value}")
    return [*arguments, *positionals]


def pack(arguments: Sequence[str]) -> list[str]:
    """One argument in place of all, for `parse`: the engine strips the blanks around each argument
    and turns every %20 into a blank, which would change prompts."""
    return [_PACKED + urllib.parse.quote(json.dumps(list(arguments)))]


def _unpack(arguments: Sequence[str]) -> list[str]:
    if len(arguments) == 1 and arguments[0].startswith(_PACKED):
        unpacked: list[str] = json.loads(urllib.parse.unquote(arguments[0].removeprefix(_PACKED)))
        return unpacked
    return list(arguments)
