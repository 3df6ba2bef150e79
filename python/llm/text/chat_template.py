"""Renders the chat template that a model file brings, a Jinja program from a stranger.

It runs in jinja2's immutable sandbox with the names that such templates expect (those of
Hugging Face's `apply_chat_template`). Knows nothing of tokens.
"""

import datetime
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from llm.errors import RequestError

if TYPE_CHECKING:
    from jinja2 import Template


class ChatTemplate:
    """Compiled when first rendered: jinja2 is imported only for files that have a template."""

    def __init__(self, source: str, bos_token: str, eos_token: str) -> None:
        self._source = source
        # Defined even where the file has no such token: templates add them to strings.
        self._names = {"bos_token": bos_token, "eos_token": eos_token}
        self._template: Template | None = None

    def render(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """The prompt, up to where the answer begins.

        Raises RequestError with the template's own words where it refuses the messages, and with
        jinja2's where it is faulty.
        """
        try:
            if self._template is None:
                self._template = _compile(self._source)
            return self._template.render(
                self._names,
                messages=[dict(message) for message in messages],
                add_generation_prompt=True,
                tools=None,
                documents=None,
            )
        except Exception as error:  # whatever a stranger's program does wrong
            line = getattr(error, "lineno", None)
            place = f" line {line}" if line else ""
            words = " ".join(str(error).split()) or type(error).__name__
            raise RequestError(f"chat template{place}: {words}") from error


def _compile(source: str) -> "Template":
    from jinja2.ext import loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols]
    )
    environment.filters["tojson"] = _tojson
    environment.globals |= {"raise_exception": _raise_exception, "strftime_now": _strftime_now}
    return environment.from_string(source)


def _raise_exception(message: str) -> NoReturn:
    from jinja2 import TemplateError

    raise TemplateError(message)


def _strftime_now(format: str) -> str:
    return datetime.datetime.now().strftime(format)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Unlike jinja2's own filter it escapes nothing for HTML: models read this."""
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )
