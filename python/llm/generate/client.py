"""A node's side of the worker: accepts or refuses, remembers the conversation, and drains events.

Runs on one thread, in Godot the main one, never waits for the worker and never touches a model.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from llm.errors import RequestError, StateFileError
from llm.generate.conversation import ASKING_ROLES, Conversation
from llm.generate.events import (
    CANCELLED,
    ERROR,
    GIVEN_UP,
    AnswerStats,
    Ended,
    Event,
    Likely,
    StateLoaded,
    StateSaved,
    ToolsCalled,
    Truncated,
    Updated,
)
from llm.generate.model_client import ModelClient
from llm.generate.request import (
    AdapterUse,
    AnswerOptions,
    Asked,
    LoadCache,
    LoadSpec,
    Request,
    SaveCache,
)
from llm.generate.running import Running
from llm.generate.saved_state import SavedState, open_state, write_state
from llm.generate.session import Session
from llm.generate.worker import Worker
from llm.generate.xray import AttentionXray, LayersXray, PromptXray, TokenXray

if TYPE_CHECKING:
    from llm.text.messages import Message

_request_ids = count(1)


def new_request_id() -> int:
    """From 1 up, no two alike in a process."""
    return next(_request_ids)


NO_MODEL = "no model is loaded; ask something, or load one first"
REJECT, QUEUE, REPLACE = BUSY_POLICIES = ("reject", "queue", "replace")


class Client(ModelClient):
    """One request at a time; what happens to others meanwhile, each of them says."""

    def __init__(self, worker: Callable[[], Worker]) -> None:
        """`worker` is called when one is needed first: a game that never asks starts no thread."""
        super().__init__(worker)
        self._running: Running | None = None
        self._waiting: deque[Asked] = deque()
        self._storing: StateSaved | StateLoaded | None = None  # the worker is at it
        self.conversation = Conversation()
        self.stats = AnswerStats()  # of the running answer, or the latest
        self.token_ids: list[int] = []  # of the running answer, or the latest
        self.reasoning = ""  # that came before or within it
        self.likely: list[tuple[Likely, ...]] = []  # of its tokens, where they were asked for

    @property
    def is_answering(self) -> bool:
        """True from the acceptance of a request to its end, also while it waits for the load."""
        return self._running is not None

    @property
    def is_loading(self) -> bool:
        return self._connection.is_loading

    def ask(self, asked: Asked, busy_policy: str = REJECT) -> None:
        """Goes on with the conversation, or with raw text; loads first where needed.

        While another request runs this one is refused, waits for the end of that one, or replaces
        it, which ends as cancelled. Raises RequestError where it is not accepted.
        """
        self._absorb()  # the other may be over, only not yet given out
        text = asked.prompt if asked.question is None else asked.question.strip()
        if not text:
            raise RequestError("the prompt is empty")
        if asked.role not in ASKING_ROLES:
            known = ", ".join(ASKING_ROLES)
            raise RequestError(f"role is '{asked.role}'; it must be one of {known}")
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
            self._take(self._running.cancelled(self.stats))
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

    def give_result(self, request_id: int, index: int, text: str) -> None:
        """What a tool that was called returned; nothing where the request is over.

        With the last of a round the model goes on.
        """
        running = self._running
        if running is None or running.id != request_id:
            return
        running.give(index, text)
        self._go_on(running)

    def edit_message(self, index: int, content: str) -> None:
        """Puts another text in a message's place. Raises RequestError."""
        self._check_idle()
        self.conversation.edit(index, content)

    def reset(self) -> None:
        """Empties the conversation and the KV. A running answer is cancelled, and not kept."""
        self._cancel_unkept()
        self.conversation.clear()
        self._connection.post(Session.forget)
        self._forget_answer()

    def replace_history(self, messages: Sequence[object]) -> None:
        """Takes another conversation. A running answer is cancelled, and not kept.

        Raises RequestError on a bad message, and then nothing has changed.
        """
        replaced = Conversation(messages)
        self._cancel_unkept()
        self.conversation = replaced

    def save_state(self, path: str, system_prompt: str, *, with_cache: bool) -> None:
        """Writes the conversation to a file. StateSaved comes, where it is to have the cache when
        the worker has added that.

        Raises RequestError, StateFileError, and then the file is what it was.
        """
        self._check_idle()
        self._check_stored()
        state = SavedState(self.conversation.messages(), system_prompt)
        write_state(path, state)
        if with_cache and self.info is not None:
            self._store(SaveCache(path, state), StateSaved())
        else:
            self._ready.append(StateSaved())

    def load_state(
        self, path: str, spec: LoadSpec | None, adapters: tuple[AdapterUse, ...] = ()
    ) -> str:
        """Takes the conversation from a file, as `replace_history`, and gives its system prompt.

        StateLoaded comes, where the file has a cache and there is a `spec` when that is in the
        model, which has `adapters`, or is known not to fit it. Raises RequestError, StateFileError:
        nothing has changed.
        """
        self._check_stored()
        with open_state(path) as (state, _):
            pass
        try:
            self.replace_history(state.messages)
        except RequestError as problem:
            raise StateFileError(path, "messages", str(problem)) from None
        if state.cache is None or spec is None:
            self._ready.append(StateLoaded())
        else:
            if spec != self._connection.spec:
                self._connection.load(spec)
            self._store(LoadCache(path, adapters), StateLoaded())
        return state.system_prompt

    def tell_attention(self, position: int, layer: int) -> None:
        """AttentionXray comes, also while an answer is being made."""
        command = partial(Session.tell_attention, position=position, layer=layer)
        if not self._connection.post(command):
            self._ready.append(AttentionXray(position, layer, error=NO_MODEL))

    def tell_layers(self) -> None:
        """LayersXray comes, also while an answer is being made."""
        if not self._connection.post(Session.tell_layers):
            self._ready.append(LayersXray(0, error=NO_MODEL))

    def begin_frame(self, number: int) -> None:
        """A frame of the game, with its number, brings time to a request that is limited by it."""
        if self._running is not None and self._running.asked.options.frame_seconds > 0.0:
            self._connection.begin_frame(number)

    def close(self) -> list[Event]:
        """Unloads, and gives the last events, the running request's end included. Usable again."""
        self.cancel()
        last = list(self.poll())
        if self._storing is not None:
            last.append(replace(self._storing, error=GIVEN_UP))
            self._storing = None
        self._connection.close()
        return last

    def _check_idle(self) -> None:
        self._absorb()
        if self._running is not None:
            raise RequestError(
                f"request {self._running.id} is still being answered; stop it or wait for its "
                "response_ended"
            )

    def _check_stored(self) -> None:
        self._absorb()
        if self._storing is not None:
            signal = "state_saved" if isinstance(self._storing, StateSaved) else "state_loaded"
            raise RequestError(f"a state file is still being worked on; wait for {signal}")

    def _store(self, job: SaveCache | LoadCache, told: StateSaved | StateLoaded) -> None:
        if self._connection.post(partial(Session.store, job=job)):
            self._storing = told
        else:
            self._ready.append(replace(told, error="the engine is shutting down"))

    def _start(self, asked: Asked) -> None:
        """RequestError where the worker takes nothing more."""
        if asked.spec != self._connection.spec:
            self._connection.load(asked.spec)
        running = Running(asked)
        self._post_request(running)
        self._running = running
        self._forget_answer()

    def _forget_answer(self) -> None:
        self.stats = AnswerStats()
        self.token_ids, self.reasoning, self.likely = [], "", []

    def _go_on(self, running: Running) -> None:
        """With another round, if all results of the latest are there."""
        if running.take_results():
            try:
                self._post_request(running)
            except RequestError as problem:
                self._connection.put(Ended(running.id, ERROR, "", error=str(problem)))

    def _post_request(self, running: Running) -> None:
        """RequestError where the worker takes nothing more."""
        asked = running.asked
        prompt: str | tuple[Message, ...] = asked.prompt
        if asked.question is not None:
            prompt = self.conversation.asking(
                running.messages, asked.prompt, is_again=asked.is_again
            )
        request = Request(asked.id, prompt, asked.options)
        if not self._connection.post(partial(Session.answer, request=request)):
            raise RequestError("the engine is shutting down")

    def _start_next(self) -> None:
        while self._waiting and self._running is None:
            asked = self._waiting.popleft()
            try:
                self._start(asked)
            except RequestError as problem:
                self._ready.append(Ended(asked.id, ERROR, "", error=str(problem)))

    def _cancel_unkept(self) -> None:
        if self._running is not None:
            self._running.is_kept = False
            self.cancel()

    def _absorb(self) -> None:
        for event in self._connection.events():
            self._take(event)

    def _take(self, event: Event) -> None:
        """Brings the state up to date with an event, and keeps it to be given out."""
        if isinstance(event, StateSaved | StateLoaded):
            self._storing = None
        if isinstance(event, Truncated | Updated | Ended | PromptXray | TokenXray):
            if self._running is None or event.id != self._running.id:
                return  # it was cancelled, so for the client it has ended
            if isinstance(event, Truncated | Updated | Ended):
                event = self._take_answer(event, self._running)
        self._ready.append(event)
        self._start_next()

    def _take_answer(
        self, event: Truncated | Updated | Ended, running: Running
    ) -> Truncated | Updated | Ended | ToolsCalled:
        """What is given out in the place of the event."""
        if isinstance(event, Truncated):
            self.conversation.drop_oldest(event.dropped)
            return event
        self.stats = event.stats
        if isinstance(event, Updated):
            running.note(event)
            self.reasoning += event.reasoning
            if event.token is not None:
                self.token_ids.append(event.token)
            if event.likely:
                self.likely.append(event.likely)
            return event
        if running.wants_tools(event):
            if running.rounds_left > 0:
                running.begin_round(event)
                self._go_on(running)
                return ToolsCalled(running.id, event.calls, event.faults)
            rounds = running.asked.options.max_tool_rounds
            error = f"the model called tools in more than {rounds} rounds; see max_tool_rounds"
            event = replace(event, reason=ERROR, error=error)
        self._running = None
        if running.is_kept:
            asked = running.asked
            self.conversation.end_turn(running.whole(event), event.reason, is_again=asked.is_again)
        return replace(event, text=running.text)
