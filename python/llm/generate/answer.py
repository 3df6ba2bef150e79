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
from llm.generate.transcript import Piece, Transcript
from llm.generate.truncation import STOP as POLICY_STOP
from llm.generate.truncation import TRUNCATE, drop_turns, wanted_room
from llm.generate.xray import PromptXray, TokenXray, shown_text
from llm.text.reply import ReplyParser

if TYPE_CHECKING:
    from llm.text.messages import Message


@dataclass(frozen=True, slots=True)
class Wanted:
    """The tokens after `tokens`, which follow those that `sequence` holds: one at least."""

    sequence: CachedSequence
    tokens: Sequence[int]
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
        self._is_chat = not isinstance(request.prompt, str)
        model = sequence.model
        self._model = model
        self._sequence = sequence
        self._context_length = context_length
        self._request = request
        self._emit = emit
        # Without a template a chat format ends turns by words of its own: to the caller, a "stop".
        self._turn_ends = model.chat_format.stop_words if self._is_chat else ()
        self._transcript = self._begin_transcript(is_thinking=False)
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
            rest = self._transcript.finish()
            if rest != Piece():
                update = Updated(self._request.id, rest.text, self._stats, reasoning=rest.reasoning)
                self._emit(update)
            self._emit(
                Ended(
                    self._request.id,
                    reason,
                    self._transcript.text,
                    self._stats,
                    error,
                    details,
                    self._transcript.reasoning,
                    self._transcript.calls,
                    self._transcript.faults,
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
        if self._request.options.is_xrayed:
            texts = tuple(shown_text(self._model.tokenizer, token) for token in prompt)
            self._emit(PromptXray(self._request.id, tuple(prompt), texts))
        self._sequence.adapt(self._request.options.adapters)
        yield from self._prefill(prompt)

        chooser = self._chooser(prompt)
        limit = self._token_limit(len(prompt))
        first_token_at = 0.0
        generated = 0
        made = deque(chooser.forced(limit))  # tokens that are to come
        if not made:
            made.append(chooser.choose(self._model, len(prompt)))
            made.extend(chooser.forced(limit - 1))
        token = made.popleft()
        said = list(prompt)
        while True:
            now = time.perf_counter()
            first_token_at = first_token_at or now
            if chooser.choices:
                choice, pages = chooser.choices.popleft(), self._sequence.page_map()
                self._emit(TokenXray(self._request.id, len(said), choice, pages))
            if token in self._model.tokenizer.end_ids:
                return STOP
            piece = self._transcript.push(token)
            said.append(token)
            generated += 1
            self._stats = replace(
                self._stats,
                generated_tokens=generated,
                context_used=len(prompt) + generated,
                prompt_s=first_token_at - started,
                decode_s=now - first_token_at,
            )
            likely = chooser.likely.popleft() if chooser.likely else ()
            self._emit(
                Updated(self._request.id, piece.text, self._stats, token, piece.reasoning, likely)
            )
            chooser.is_free = chooser.is_free and self._transcript.is_thinking
            if self._transcript.stop_word is not None:
                return STOP if self._transcript.stop_word in self._turn_ends else STOP_WORD
            if not made and chooser.is_complete:
                return STOP
            if generated == limit:
                return LENGTH
            if (
                not made
            ):  # those made beyond the answer's end stay in the cache, where they harm nobody
                new = said[len(self._sequence) :]
                made.extend((yield Wanted(self._sequence, new, chooser, limit - generated)))
            token = made.popleft()

    def _chooser(self, prompt: list[int]) -> Chooser:
        options = self._request.options
        format = options.format
        matcher = None if format is None else self._model.grammars.matcher(format)
        tokenizer = self._model.tokenizer
        chooser = Chooser(
            options.sampling,
            tokenizer,
            prompt,
            matcher,
            options.n_probs,
            is_traced=options.is_xrayed,
        )
        chooser.is_free = self._transcript.is_thinking
        if self._is_chat and options.allow_thinking and not chooser.is_free:
            chooser.openers = self._model.chat_format.thinking_openers
        return chooser

    def _begin_transcript(self, *, is_thinking: bool) -> Transcript:
        options, style = self._request.options, self._model.chat_format.reply_style
        has_tools = bool(options.tools)
        parser = ReplyParser(style, is_thinking=is_thinking, has_tools=has_tools)
        stop_words = (*options.stop_words, *self._turn_ends)
        tokenizer = self._model.tokenizer
        return Transcript(tokenizer, stop_words, parser if self._is_chat else None)

    def _encode_prompt(self) -> list[int]:
        prompt = self._request.prompt
        if isinstance(prompt, str):
            # Raw prompts are written by the author, markers included.
            ids = self._model.tokenizer.encode(prompt, parse_special=True)
        else:
            ids, is_thinking = self._encode_messages(prompt)
            self._transcript = self._begin_transcript(is_thinking=is_thinking)
        if not ids:
            raise RequestError("the prompt is empty: it has no tokens")
        return ids

    def _encode_messages(self, messages: "Sequence[Message]") -> tuple[list[int], bool]:
        """The ids, and whether they end within a block of reasoning."""
        options = self._request.options
        tools = [tool.schema() for tool in options.tools]
        is_thinking = False

        def encode(messages: "Sequence[Message]") -> list[int]:
            nonlocal is_thinking
            prompt = self._model.chat_format.encode(
                messages, tools=tools, allow_thinking=options.allow_thinking
            )
            is_thinking = prompt.is_thinking
            return prompt.ids

        if options.context_policy != TRUNCATE:
            return encode(messages), is_thinking
        room = wanted_room(self._context_length, options.max_tokens)
        ids, dropped = drop_turns(messages, encode, self._context_length, room)
        if dropped and len(ids) < self._context_length:  # else it is an error, and all stays
            self._emit(Truncated(self._request.id, dropped))
        return ids, is_thinking

    def _prefill(self, prompt: list[int]) -> Steps:
        """Leaves the logits of the prompt's last token in the model.

        Before each chunk others may have come further with the same beginning.
        """
        self._stats = replace(self._stats, prompt_tokens=len(prompt), context_used=len(prompt))
        computed = end = 0
        while end < len(prompt):
            yield None
            known = self._sequence.keep_common(prompt)
            pace = self._model.pace
            end = self._sequence.chunk_end(len(prompt), pace.rows(self._model.chunk_size))
            chunk = prompt[known:end]
            started = time.perf_counter()
            self._sequence.forward(chunk, want_logits=end == len(prompt))
            pace.note_chunk(len(chunk), time.perf_counter() - started)
            computed += len(chunk)
            self._stats = replace(self._stats, cached_tokens=end - computed)

    def _token_limit(self, n_prompt: int) -> int:
        room = self._context_length - n_prompt
        most = self._request.options.max_tokens
        return min(most, room) if most > 0 else room
