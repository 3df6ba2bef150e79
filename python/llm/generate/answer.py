"""Makes one answer, as a generator: each `next` runs one chunk of the prompt or one token.

Once the generator has been started, one `Ended` is emitted whatever happens: at its end, on an
error, or when it is closed between two steps, which is what cancels it.
"""

import time
import traceback
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import replace
from threading import current_thread
from typing import TYPE_CHECKING

from llm.errors import LLMError, RequestError, printable
from llm.generate.events import (
    CANCELLED,
    ERROR,
    LENGTH,
    STOP,
    STOP_WORD,
    AnswerStats,
    Ended,
    Event,
    Updated,
)
from llm.generate.prefix import Prefix
from llm.generate.request import Request
from llm.generate.sampling import Chooser
from llm.generate.transcript import Transcript

if TYPE_CHECKING:
    from llm.generate.model import Model

Steps = Generator[None, None, None]


class Answer:
    """One request being answered by one model. `prefix` is what that model's KV holds."""

    def __init__(
        self, model: "Model", prefix: Prefix, request: Request, emit: Callable[[Event], None]
    ) -> None:
        is_chat = not isinstance(request.prompt, str)
        self._model = model
        self._prefix = prefix
        self._request = request
        self._emit = emit
        # Without a template a chat format ends turns by words of its own: to the caller, a "stop".
        self._turn_ends = model.chat_format.stop_words if is_chat else ()
        self._transcript = Transcript(
            model.tokenizer,
            (*request.options.stop_words, *self._turn_ends),
            strip_start=is_chat,
        )
        self._stats = AnswerStats(thread=current_thread().name)
        self._made: deque[int] = deque()  # tokens that are to come

    def run(self) -> Steps:
        reason, error, details = CANCELLED, "", ""  # true as long as nothing else happened
        try:
            reason = yield from self._generate()
        except RequestError as problem:
            reason, error = ERROR, str(problem)
        except LLMError as problem:
            self._prefix.clear()  # what a failed or NaN forward left there is not to be built upon
            reason, error = ERROR, str(problem)
        except Exception as problem:  # our own fault: it ends this answer and nobody else's
            self._prefix.clear()
            reason, error = ERROR, printable(f"{type(problem).__name__}: {problem}")
            details = traceback.format_exc()
        finally:
            if rest := self._transcript.finish():
                self._emit(Updated(self._request.id, rest, self._stats))
            self._emit(
                Ended(
                    self._request.id,
                    reason,
                    self._transcript.text,
                    self._stats,
                    error,
                    details,
                )
            )

    def _generate(self) -> Generator[None, None, str]:
        """Returns why the answer is over."""
        started = time.perf_counter()
        prompt = self._encode_prompt()
        yield from self._prefill(prompt)

        chooser = Chooser(self._request.options.sampling, seen=prompt)
        limit = self._token_limit(len(prompt))
        first_token_at = 0.0
        generated = 0
        token = chooser.choose(self._model, len(prompt))
        while True:
            now = time.perf_counter()
            first_token_at = first_token_at or now
            if token in self._model.tokenizer.end_ids:
                return STOP
            piece = self._transcript.push(token)
            generated += 1
            self._stats = replace(
                self._stats,
                generated_tokens=generated,
                context_used=len(prompt) + generated,
                prompt_s=first_token_at - started,
                decode_s=now - first_token_at,
            )
            self._emit(Updated(self._request.id, piece, self._stats, token))
            if self._transcript.stop_word is not None:
                return STOP if self._transcript.stop_word in self._turn_ends else STOP_WORD
            if generated == limit:
                return LENGTH
            yield
            token = self._next(token, chooser, limit - generated)

    def _next(self, token: int, chooser: Chooser, most: int) -> int:
        """The token after `token`; several are made at a time where that is quick.

        Those made beyond the answer's end stay in the KV, where they harm nobody.
        """
        if chooser.looks_back:
            self._prefix.forward(self._model, [token], want_logits=True)
            return chooser.choose(self._model, len(self._prefix))
        if not self._made:
            sampler, ends = chooser.sampler, self._model.tokenizer.end_ids
            count = min(self._model.ahead, most) if sampler.fits_device else 1
            self._made.extend(self._prefix.decode(self._model, token, count, sampler, ends))
        return self._made.popleft()

    def _encode_prompt(self) -> list[int]:
        prompt = self._request.prompt
        if isinstance(prompt, str):
            # Raw prompts are written by the author, markers included.
            ids = self._model.tokenizer.encode(prompt, parse_special=True)
        else:
            ids = self._model.chat_format.encode(prompt)
        if not ids:
            raise RequestError("the prompt is empty: it has no tokens")
        if len(ids) >= self._model.context_length:
            raise RequestError(
                f"the prompt has {len(ids)} tokens and context_length is "
                f"{self._model.context_length}; it must leave at least one for the answer"
            )
        return ids

    def _prefill(self, prompt: list[int]) -> Steps:
        """Leaves the logits of the prompt's last token in the model."""
        cached = self._prefix.keep_common(prompt)
        self._stats = replace(
            self._stats,
            prompt_tokens=len(prompt),
            cached_tokens=cached,
            context_used=len(prompt),
        )
        size = self._model.chunk_size
        for start in range(cached, len(prompt), size):
            yield
            chunk = prompt[start : start + size]
            is_last = start + size >= len(prompt)
            self._prefix.forward(self._model, chunk, want_logits=is_last)

    def _token_limit(self, n_prompt: int) -> int:
        room = self._model.context_length - n_prompt
        most = self._request.options.max_tokens
        return min(most, room) if most > 0 else room
