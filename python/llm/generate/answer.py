"""Makes one answer, as a generator: each step runs a chunk of the prompt, or asks for a token.

Once the generator has been started, one `Ended` is emitted whatever happens: at its end, on an
error, or when it is closed between two steps, which is what cancels it.
"""

import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
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
    Truncated,
    Updated,
)
from llm.generate.request import Request
from llm.generate.sampling import Chooser
from llm.generate.sequence import CachedSequence
from llm.generate.transcript import Transcript
from llm.generate.truncation import STOP as POLICY_STOP
from llm.generate.truncation import TRUNCATE, drop_turns, wanted_room

if TYPE_CHECKING:
    from llm.text.messages import Message


@dataclass(frozen=True, slots=True)
class Wanted:
    """The tokens after `token`, which follows those that `sequence` holds: one at least."""

    sequence: CachedSequence
    token: int
    chooser: Chooser
    most: int


Steps = Generator[Wanted | None, list[int], None]  # what it wants is sent to it


class Answer:
    """One request being answered. `sequence` is what the model's cache holds of it."""

    def __init__(
        self,
        sequence: CachedSequence,
        context_length: int,
        request: Request,
        emit: Callable[[Event], None],
    ) -> None:
        is_chat = not isinstance(request.prompt, str)
        model = sequence.model
        self._model = model
        self._sequence = sequence
        self._context_length = context_length
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

    def run(self) -> Steps:
        reason, error, details = CANCELLED, "", ""  # true as long as nothing else happened
        self._sequence.is_busy = True
        try:
            reason = yield from self._generate()
        except RequestError as problem:
            reason, error = ERROR, str(problem)
        except LLMError as problem:
            self._sequence.clear()  # a failed or NaN forward is not to be built upon
            reason, error = ERROR, str(problem)
        except Exception as problem:  # our own fault: it ends this answer and nobody else's
            self._sequence.clear()
            reason, error = ERROR, printable(f"{type(problem).__name__}: {problem}")
            details = traceback.format_exc()
        finally:
            self._sequence.is_busy = False
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

    def _generate(self) -> Generator[Wanted | None, list[int], str]:
        """Returns why the answer is over."""
        started = time.perf_counter()
        prompt = self._encode_prompt()
        if len(prompt) >= self._context_length:
            if self._request.options.context_policy == POLICY_STOP:
                return LENGTH
            raise RequestError(
                f"the prompt has {len(prompt)} tokens and context_length is "
                f"{self._context_length}; it must leave at least one for the answer"
            )
        yield from self._prefill(prompt)

        chooser = Chooser(self._request.options.sampling, seen=prompt)
        limit = self._token_limit(len(prompt))
        first_token_at = 0.0
        generated = 0
        token = chooser.choose(self._model, len(prompt))
        made: deque[int] = deque()  # tokens that are to come
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
            if made:
                yield None
            else:  # those made beyond the answer's end stay in the cache, where they harm nobody
                made.extend((yield Wanted(self._sequence, token, chooser, limit - generated)))
            token = made.popleft()

    def _encode_prompt(self) -> list[int]:
        prompt = self._request.prompt
        if isinstance(prompt, str):
            # Raw prompts are written by the author, markers included.
            ids = self._model.tokenizer.encode(prompt, parse_special=True)
        else:
            ids = self._encode_messages(prompt)
        if not ids:
            raise RequestError("the prompt is empty: it has no tokens")
        return ids

    def _encode_messages(self, messages: "Sequence[Message]") -> list[int]:
        options = self._request.options

        def encode(messages: "Sequence[Message]") -> list[int]:
            return self._model.chat_format.encode(messages).ids

        if options.context_policy != TRUNCATE:
            return encode(messages)
        room = wanted_room(self._context_length, options.max_tokens)
        ids, dropped = drop_turns(messages, encode, self._context_length, room)
        if dropped and len(ids) < self._context_length:  # else it is an error, and all stays
            self._emit(Truncated(self._request.id, dropped))
        return ids

    def _prefill(self, prompt: list[int]) -> Steps:
        """Leaves the logits of the prompt's last token in the model.

        Before each chunk others may have come further with the same beginning.
        """
        self._stats = replace(self._stats, prompt_tokens=len(prompt), context_used=len(prompt))
        computed = end = 0
        while end < len(prompt):
            yield None
            known = self._sequence.keep_common(prompt)
            chunk = prompt[known : known + self._model.chunk_size]
            end = known + len(chunk)
            self._sequence.forward(chunk, want_logits=end == len(prompt))
            computed += len(chunk)
            self._stats = replace(self._stats, cached_tokens=end - computed)

    def _token_limit(self, n_prompt: int) -> int:
        room = self._context_length - n_prompt
        most = self._request.options.max_tokens
        return min(most, room) if most > 0 else room
