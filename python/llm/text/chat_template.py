"""Renders the chat template that a model file brings, a Jinja program from a stranger.

It runs in a sandbox with limits (`template_sandbox`) and sees the names that Hugging Face's
`apply_chat_template` gives. Knows nothing of tokens.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from llm.errors import RequestError
from llm.text.template_budget import SOURCE_CHARACTERS

if TYPE_CHECKING:
    from jinja2 import Template

    from llm.text.template_sandbox import LimitedEnvironment

# Defined even where the file has no such token: templates add them to strings.
TOKEN_KEYS = {
    "bos_token": "tokenizer.ggml.bos_token_id",
    "eos_token": "tokenizer.ggml.eos_token_id",
    "unk_token": "tokenizer.ggml.unknown_token_id",
    "pad_token": "tokenizer.ggml.padding_token_id",
    "sep_token": "tokenizer.ggml.seperator_token_id",  # so spelled in the files
    "cls_token": "tokenizer.ggml.cls_token_id",
    "mask_token": "tokenizer.ggml.mask_token_id",
}

_WORDS = 500  # characters of an error, which a template may make of the whole conversation


class TemplateRefusedError(RequestError):
    """The template does not take these messages, or is faulty; perhaps it takes simpler ones."""


class ChatTemplate:
    """Compiled when first rendered: jinja2 is imported only for files that have a template.

    `tokens` are texts for names in TOKEN_KEYS. To be used by one thread at a time.
    """

    def __init__(self, source: str, tokens: Mapping[str, str]) -> None:
        self.source = source
        self.knows_tools = re.search(r"\btools\b", source) is not None
        self._tokens = dict.fromkeys(TOKEN_KEYS, "") | dict(tokens)
        self._compiled: tuple[LimitedEnvironment, Template] | None = None

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] = (),
        *,
        allow_thinking: bool = True,
    ) -> str:
        """The prompt, up to where the answer begins.

        Raises TemplateRefusedError, with the template's own words where it refuses the messages,
        or with jinja2's where it is faulty. Raises RequestError, naming the limit, where it is too
        long, takes too long or makes too much.
        """
        try:
            environment, template = self._compiled = self._compiled or self._compile()
            environment.budget.start()
            return template.render(
                self._tokens,
                messages=[dict(message) for message in messages],
                tools=list(tools) or None,
                documents=None,
                add_generation_prompt=True,
                enable_thinking=allow_thinking,
                thinking=allow_thinking,  # the same switch in Granite and DeepSeek V3.1
            )
        except RequestError as error:
            raise RequestError(f"chat template: {error}") from error
        except Exception as error:  # whatever a stranger's program does wrong
            line = getattr(error, "lineno", None)
            place = f" line {line}" if line else ""
            words = " ".join(str(error)[:_WORDS].split()) or type(error).__name__
            raise TemplateRefusedError(f"chat template{place}: {words}") from error

    def _compile(self) -> "tuple[LimitedEnvironment, Template]":
        from llm.text.template_sandbox import LimitedEnvironment

        if len(self.source) > SOURCE_CHARACTERS:
            raise RequestError(
                f"it has {len(self.source):,} characters; the limit is {SOURCE_CHARACTERS:,}"
            )
        environment = LimitedEnvironment()
        return environment, environment.compiled(self.source)
