"""A node's side of the worker: accepts or refuses, remembers the conversation, and drains events.

Runs on one thread, in Godot the main one, never waits for the worker and never touches a model.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from llm.errors import RequestError
from llm.generate.connection import Connection
from llm.generate.conversation import ROLES, Conversation
from llm.generate.events import (
    CANCELLED,
    ERROR,
    AnswerStats,
    Ended,
    Event,
    Loaded,
    ModelInfo,
    Truncated,
    Updated,
)
from llm.generate.request import AnswerOptions, LoadSpec, Request
from llm.generate.session import Session
from llm.generate.worker import Worker

if TYPE_CHECKING:
    from llm.text.chat_format import Message

_request_ids = count(1)


def new_request_id() -> int:
    """From 1 up, no two alike in a process."""
    return next(_request_ids)


REJECT, QUEUE, REPLACE = BUSY_POLICIES = ("reject", "queue", "replace")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be asked. `question` is None for a raw prompt, which the history does not keep."""

    id: int
    question: str | None
    prompt: str  # raw; or the system prompt of a question
    spec: LoadSpec
    options: AnswerOptions
    role: str = "user"  # that asks
    is_again: bool = False  # in place of the latest turn


@dataclass(slots=True)
class _Running:
    """The request that was accepted and has not ended."""

    id: int
    question: str | None  # None: a raw completion, which the history does not keep
    role: str = "user"
    is_again: bool = False
    text: str = ""


class Client:
    """One request at a time; what happens to others meanwhile, each of them says."""

    def __init__(self, worker: Callable[[], Worker]) -> None:
        """`worker` is called when one is needed first: a game that never asks starts no thread."""
        self._connection = Connection(worker)
        self._ready: deque[Event] = deque()  # taken note of, to be given out
        self._running: _Running | None = None
        self._waiting: deque[Asked] = deque()
        self.conversation = Conversation()
        self.stats = AnswerStats()  # of the running answer, or the latest
        self.token_ids: list[int] = []  # of the running answer, or the latest

    @property
    def info(self) -> ModelInfo | None:
        """Of the loaded model."""
        return self._connection.info

    @property
    def load_error(self) -> str:
        """Of the latest load, if that failed."""
        return self._connection.load_error

    @property
    def is_answering(self) -> bool:
        """True from the acceptance of a request to its end, also while it waits for the load."""
        return self._running is not None

    @property
    def is_loading(self) -> bool:
        return self._connection.is_loading

    def load(self, spec: LoadSpec) -> None:
        """Loads, unless that model is there or on its way. Replacing another cancels its answer."""
        if spec != self._connection.spec:
            self.cancel()
            self._connection.load(spec)
        elif self.info is not None:
            self._ready.append(Loaded(self.info))  # so that who waits for it is told

    def ask(self, asked: Asked, busy_policy: str = REJECT) -> None:
        """Goes on with the conversation, or with raw text; loads first where needed.

        While another request runs this one is refused, waits for the end of that one, or replaces
        it, which ends as cancelled. Raises RequestError where it is not accepted.
        """
        self._absorb()  # the other may be over, only not yet given out
        text = asked.prompt if asked.question is None else asked.question.strip()
        if not text:
            raise RequestError("the prompt is empty")
        if asked.role not in ROLES:
            raise RequestError(f"role is '{asked.role}'; it must be one of {', '.join(ROLES)}")
        if busy_policy not in BUSY_POLICIES:
            known = ", ".join(BUSY_POLICIES)
            raise RequestError(f"busy_policy is '{busy_policy}'; there are {known}")
        if self._running is not None and busy_policy == REJECT:
            raise RequestError(
                f"request {self._running.id} is still being answered; stop it, wait for its "
                "response_ended, or set busy_policy"
            )
        if self._running is not None and busy_policy == QUEUE:
            self._waiting.append(asked)
            return
        self.cancel()
        self._start(asked)

    def cancel(self) -> None:
        """Ends the running request, if any, as cancelled, and those that wait for it.

        They are over at once, with the text that has arrived: the next may be asked without waiting
        for the worker, and what that still says about them is dropped.
        """
        waiting, self._waiting = self._waiting, deque()
        if self._running is not None:
            self._connection.post(partial(Session.cancel, request_id=self._running.id))
            self._absorb()
        if self._running is not None:  # its end may just have arrived by itself
            self._take(Ended(self._running.id, CANCELLED, self._running.text, self.stats))
        self._ready += [Ended(asked.id, CANCELLED, "") for asked in waiting]

    def ask_again(
        self, request_id: int, system_prompt: str, spec: LoadSpec, options: AnswerOptions
    ) -> None:
        """Has the latest question answered anew; its answer stays until there is another.

        Raises RequestError.
        """
        self._check_idle()
        turn = self.conversation.latest_question()
        question, role = turn["content"], turn["role"]
        self._start(Asked(request_id, question, system_prompt, spec, options, role, is_again=True))

    def edit_message(self, index: int, content: str) -> None:
        """Puts another text in a message's place. Raises RequestError."""
        self._check_idle()
        self.conversation.edit(index, content)

    def reset(self) -> None:
        """Empties the conversation and the KV. A running answer is cancelled, and not kept."""
        self._cancel_unkept()
        self.conversation.clear()
        self._connection.post(Session.forget)
        self.stats = AnswerStats()
        self.token_ids = []

    def replace_history(self, messages: Sequence[object]) -> None:
        """Takes another conversation. A running answer is cancelled, and not kept.

        Raises RequestError on a bad message, and then nothing has changed.
        """
        replaced = Conversation(messages)
        self._cancel_unkept()
        self.conversation = replaced

    def poll(self) -> Iterator[Event]:
        """What happened since, in order. The receiver of one may ask again or close at once."""
        self._absorb()
        while self._ready:
            yield self._ready.popleft()
            self._absorb()

    def close(self) -> list[Event]:
        """Unloads, and gives the last events, the running request's end included. Usable again."""
        if not self._connection.is_open:
            return []
        self.cancel()
        last = list(self.poll())
        self._connection.close()
        return last

    def _check_idle(self) -> None:
        self._absorb()
        if self._running is not None:
            raise RequestError(
                f"request {self._running.id} is still being answered; stop it or wait for its "
                "response_ended"
            )

    def _start(self, asked: Asked) -> None:
        """RequestError where the worker takes nothing more."""
        if asked.spec != self._connection.spec:
            self._connection.load(asked.spec)
        prompt: str | tuple[Message, ...] = asked.prompt
        if asked.question is not None:
            prompt = self.conversation.asking(
                asked.question, asked.prompt, asked.role, is_again=asked.is_again
            )
        request = Request(asked.id, prompt, asked.options)
        if not self._connection.post(partial(Session.answer, request=request)):
            raise RequestError("the engine is shutting down")
        self._running = _Running(asked.id, asked.question, asked.role, asked.is_again)
        self.stats = AnswerStats()
        self.token_ids = []

    def _start_next(self) -> None:
        while self._waiting and self._running is None:
            asked = self._waiting.popleft()
            try:
                self._start(asked)
            except RequestError as problem:
                self._ready.append(Ended(asked.id, ERROR, "", error=str(problem)))

    def _cancel_unkept(self) -> None:
        if self._running is not None:
            self._running.question = None
            self.cancel()

    def _absorb(self) -> None:
        for event in self._connection.events():
            self._take(event)

    def _take(self, event: Event) -> None:
        """Brings the state up to date with an event, and keeps it to be given out."""
        if isinstance(event, Truncated | Updated | Ended):
            if self._running is None or event.id != self._running.id:
                return  # it was cancelled, so for the client it has ended
            self._take_answer(event, self._running)
        self._ready.append(event)
        self._start_next()

    def _take_answer(self, event: Truncated | Updated | Ended, running: _Running) -> None:
        if isinstance(event, Truncated):
            self.conversation.drop_oldest(event.dropped)
            return
        self.stats = event.stats
        if isinstance(event, Updated):
            running.text += event.text
            if event.token is not None:
                self.token_ids.append(event.token)
            return
        self._running = None
        if running.question is not None:
            self.conversation.end_turn(
                running.question,
                event.text,
                event.reason,
                running.role,
                is_again=running.is_again,
            )
