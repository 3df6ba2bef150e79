"""The node that a game drops into a scene. Turns what its client reports into signals.

It decides nothing about inference and waits for nothing: see `llm.generate`.
"""

from collections.abc import Callable
from typing import Any

from godot import (
    BoundSignal,
    Engine,
    Node,
    exposed,
    signal,
)
from llm.errors import RequestError
from llm.generate.client import Client, new_request_id
from llm.generate.events import (
    COMPLETE,
    ERROR,
    GIVEN_UP,
    Ended,
    Event,
    StateLoaded,
    StateSaved,
    ToolsCalled,
    Truncated,
    Updated,
)
from llm.generate.request import AnswerOptions, Asked, LoadSpec
from llm.generate.tools import Tool
from llm.generate.xray import AttentionXray, LayersXray, PromptXray, TokenXray
from llm.nodes.answer_settings import AnswerSettings
from llm.nodes.awaited import AwaitedResults
from llm.nodes.history import History
from llm.nodes.model_user import ModelUser
from llm.nodes.request_settings import RequestSettings
from llm.nodes.shared_worker import shared_worker
from llm.nodes.stats import stats_of, told_tokens
from llm.nodes.tool_calling import ToolCalling
from llm.nodes.toolbox import Toolbox
from llm.nodes.xray import XRay


@exposed
class LLM(ModelUser, RequestSettings, AnswerSettings, ToolCalling, History, XRay, Node):
    """Runs a language model inside the game and answers prompts.

    Set [member model_path], connect [signal response_updated] and [signal response_ended], and call
    [method ask]. The model loads with the first request, or earlier with [method start_worker].
    Loading and generating happen on a worker thread; every signal comes on the main thread, in
    [method Node._process], so while a pause stops this node its signals wait.

    Nodes of the same file and [member executor] share one model, and answer side by side. Each has
    its own conversation; what their prompts begin with alike is computed once.

    Every request gets an id, and ends with exactly one [signal response_ended]. The node must be
    inside the tree; leaving it cancels what runs and, where no other node uses the model, unloads
    it; the history stays. In the editor it is only a placeholder, and loads nothing; plugins get
    one that answers there from [method create].
    """

    reasoning_updated = signal(
        id=int,
        text=str,
        doc="A new piece of what the model thinks before it answers. It is no part of the answer.",
    )
    response_updated = signal(
        id=int, text=str, doc="A new piece of the answer came. The pieces joined are the answer."
    )
    response_finished = signal(
        id=int,
        text=str,
        doc="The answer is complete: the whole of it, just before [signal response_ended] with "
        "reason stop, stop_word or length. Not after a cancel or an error.",
    )
    response_ended = signal(
        id=int,
        reason=str,
        doc="The request is over, exactly once for each id. [code]stop[/code]: the model finished; "
        "[code]stop_word[/code]: one of [member stop_words] came; [code]length[/code]: "
        "[member max_tokens] or the context is full; [code]cancelled[/code]; [code]error[/code]: "
        "see [method get_last_error].",
    )

    _client: Client | None = None
    _end_reason: str = ""

    def __init__(self) -> None:
        self._awaited = AwaitedResults()
        self._toolbox = Toolbox()
        self._refused_id = 0  # the latest request that was not accepted

    @staticmethod
    def create() -> "LLM":
        """A node that answers in the editor too, for plugins: there [code]LLM.new()[/code] makes
        the placeholder that edited scenes have. With the last of them to leave the tree, the
        editor's worker thread ends."""
        return LLM()

    def ask(self, text: str, role: str = "user") -> int:
        """Says something in the conversation and has it answered. Gives the request's id.

        It is the player who says it, or, with role system, the game.

        What happens while another request runs says [member busy_policy]."""
        options = self._answer_options
        return self._request(
            lambda id, spec: Asked(id, text, self.system_prompt, spec, options(), role)
        )

    def regenerate(self) -> int:
        """Has the latest question answered anew; the new answer takes the place of the one that it
        had, which stays where nothing comes. Gives the request's id, as [method ask]."""
        return self._request(None)

    def ask_async(self, text: str, role: str = "user") -> BoundSignal:
        """As [method ask], for [code]var reply: String = await llm.ask_async("Hi")[/code].

        The text comes whatever happens: all of the answer, what was said before it was stopped, or
        nothing. [method get_end_reason] then says how it ended, as [signal response_ended] does."""
        return self._end_of(self.ask(text, role))

    def complete_async(self, raw_prompt: str) -> BoundSignal:
        """As [method complete], to be awaited like [method ask_async]."""
        return self._end_of(self.complete(raw_prompt))

    def complete(self, raw_prompt: str) -> int:
        """Has the model go on from a text as it stands, without chat format, system prompt or
        history. Markers such as <start_of_turn> count. Gives the request's id, as [method ask]."""
        options = self._answer_options
        return self._request(lambda id, spec: Asked(id, None, raw_prompt, spec, options(tools=())))

    def stop_generation(self) -> None:
        """Cancels the running request, also while it waits for the model to load, and those that
        wait for it. The history keeps the question and what was said so far, or nothing when
        nothing was. The next request may be made at once."""
        self._conversing().cancel()

    def count_tokens(self, text: str) -> int:
        """How many tokens a text has for the loaded model; -1 while none is loaded."""
        info = self._conversing().info
        return -1 if info is None else len(info.tokenizer.encode(text, add_bos=False))

    def get_reasoning(self) -> str:
        """What the model thought for the running or the latest answer; empty where it did not."""
        return self._conversing().reasoning

    def get_token_probabilities(self) -> list[Any]:
        """Of the running or the latest answer, where [member n_probs] was above 0: a Dictionary
        for each token, with token (its id), text, probability, and candidates, an Array of the same
        for the likeliest tokens at that place. A probability is what the model gave it, after
        penalties, biases and the answer's format, before cutoffs and temperature."""
        return told_tokens(self._conversing().likely)

    def is_answering(self) -> bool:
        """Whether a request runs, or waits for the model to load."""
        return self._conversing().is_answering

    def is_loading(self) -> bool:
        """Whether a model is being loaded."""
        return self._conversing().is_loading

    def get_end_reason(self) -> str:
        """How the latest request ended, as [signal response_ended] told; empty before the first."""
        return self._end_reason

    def get_stats(self) -> dict[str, Any]:
        """The loaded model and the running or latest answer, for a status bar.

        [code]model, architecture, device, executor, chat_format[/code]: texts, empty while nothing
        is loaded. A chat format is the file's own [code]template[/code], or a [code]fallback[/code]
        where it has none, as base models do.
        [code]context_length, memory_bytes, load_s[/code]: of the loaded model, else 0.
        [code]context_used, prompt_tokens, cached_tokens[/code] (of the prompt, not computed
        again)[code], generated_tokens, prompt_tps, decode_tps[/code] (tokens a second)[code],
        token_ids, thread[/code] (the name of the one that computed): of the answer."""
        return stats_of(self._conversing())

    def _process(self, delta: float) -> None:
        self._awaited.begin_frame()
        if self._client is not None:
            self._client.begin_frame(Engine.get_process_frames())
            for event in self._client.poll():
                self._tell(event)

    def _request(self, make: Callable[[int, LoadSpec], Asked] | None) -> int:
        """Asks what `make` makes; without it the latest question again."""
        request_id = new_request_id()
        client = self._conversing()
        try:
            self._check_place()
            spec = self._load_spec()
            if make is None:
                options = self._answer_options()
                client.ask_again(request_id, self.system_prompt, spec, options)
            else:
                client.ask(make(request_id, spec), self.busy_policy)
        except RequestError as problem:
            self._note_error(str(problem))
            self._end_reason, self._refused_id = ERROR, request_id
            # Deferred, as the caller does not know the id yet.
            self.call_deferred("emit_signal", "response_ended", request_id, ERROR)
        return request_id

    def _end_of(self, request_id: int) -> BoundSignal:
        if request_id == self._refused_id:
            return self._awaited.refused("")
        return self._awaited.signal_of(request_id)

    def _tell(self, event: Event) -> None:
        match event:
            case StateSaved(error, details):
                self._note_unless_known(error, details)
                self.state_saved.emit(error)
            case StateLoaded(error, details):
                self._note_unless_known(error, details)
                self.state_loaded.emit(error)
            case Truncated(_, dropped):
                self.history_truncated.emit(dropped)
            case Updated(request_id, text):
                if event.reasoning:
                    self.reasoning_updated.emit(request_id, event.reasoning)
                if text:
                    self.response_updated.emit(request_id, text)
            case PromptXray() | TokenXray() | AttentionXray() | LayersXray():
                self._tell_xray(event)
            case ToolsCalled():
                self._call_tools(event)
            case Ended(request_id, reason, text):
                self._note_unless_known(event.error, event.details)
                if reason in COMPLETE:
                    self.response_finished.emit(request_id, text)
                self._end_reason = reason
                self.response_ended.emit(request_id, reason)
                self._awaited.tell(request_id, text)
            case _:
                super()._tell(event)

    def _note_unless_known(self, error: str, details: str) -> None:
        """A load that failed has said so already; what was given up is no error."""
        if error and error not in (GIVEN_UP, self._conversing().load_error):
            self._note_error(error, details)

    def _conversing(self) -> Client:
        if self._client is None:
            self._client = Client(shared_worker)
        return self._client

    def _worker_side(self) -> Client:
        return self._conversing()

    def _answer_options(self, tools: tuple[Tool, ...] | None = None) -> AnswerOptions:
        """`tools` in the place of the node's own."""
        return AnswerOptions(
            self._sampling_params(),
            self.max_tokens,
            tuple(self.stop_words),
            self.context_policy,
            self.priority,
            self.gpu_ms_per_frame / 1000.0,
            self.allow_thinking,
            self._toolbox.tools if tools is None else tools,
            self.max_tool_rounds,
            self._format(),
            self.n_probs,
            self._adapter_uses(),
            self.xray,
        )
