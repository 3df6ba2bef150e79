"""What nodes that load a model have in common: which one, and how the load goes."""

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import godot
from godot import ENUM, FILE, RANGE, export, signal
from llm.errors import RequestError
from llm.generate.events import Event, Loaded, LoadFailed, LoadProgressed
from llm.generate.request import LoadSpec
from llm.nodes.model_places import is_there
from llm.nodes.shared_worker import spec_of, stop_unused_worker


class WorkerSide(Protocol):
    """A node's client: see `llm.generate.client`."""

    def load(self, spec: LoadSpec) -> None: ...

    def close(self) -> Iterable[Event]: ...


class ModelUser:
    model_path = export(
        str,
        default="",
        hint=FILE,
        hint_string="*.gguf",
        doc="The model: a GGUF file, the first of a split one, or a Hugging Face folder with "
        "safetensors; a res://, user:// or absolute path. An exported game has what res:// paths "
        "name in its folder [code]models[/code], or in its pack. A change is taken up by "
        "the next [method start_worker] or request, and cancels what waits for the old one. For "
        "tests of a game there is a model without a file, which loads at once and needs no GPU: "
        "[code]echo:[/code] answers with the text of the question, "
        "[code]echo:Who goes there?[/code] with what follows the colon; of "
        "[code]echo:<think>A friend?</think>Pass.[/code] it thinks what stands in the block.",
    )
    context_length = export(
        int,
        default=4096,
        hint=RANGE,
        hint_string="16,131072,1,or_greater",
        doc="How many tokens there is room for: a conversation and its answer, or a text that a "
        "vector is made of. More costs memory. Cut to what the model was made for. A node that "
        "asks for more than the others of its file loads the file again. Taken up like "
        "[member model_path].",
    )
    executor = export(
        str,
        default="auto",
        hint=ENUM,
        hint_string="auto,reference,dispatch,persistent",
        doc="What runs the model: the CPU (reference), the GPU an operation at a time (dispatch), "
        "the GPU whole tokens at a time (persistent), or what is quickest here (auto). Taken up "
        "like [member model_path].",
    )

    quantize = export(
        str,
        default="",
        hint=ENUM,
        hint_string=",q8_0,q4_k",
        doc="What matrices of float16, bfloat16, float32 or 8-bit floats become while they load: "
        "[code]q8_0[/code] takes about half of float16's memory and [code]q4_k[/code] about a "
        "quarter, each for some of the model's quality. Empty leaves them as they are. Blocks "
        "of GGUF files stay as they are. Taken up like [member model_path].",
    )

    worker_started = signal(
        doc="The model is loaded; or was, when [method start_worker] was called."
    )
    worker_failed = signal(
        error=str,
        doc="The model did not load, and requests that waited for it fail. The next "
        "[method start_worker] or request tries again.",
    )
    load_progress = signal(fraction=float, doc="How much of the model is loaded, from 0 to 1.")

    _last_error: str = ""
    _is_leaving: bool = False

    if TYPE_CHECKING:  # at run time they are the engine's, and the node's own

        def is_inside_tree(self) -> bool: ...

        def call_deferred(self, *arguments: Any) -> None: ...

        def _worker_side(self) -> WorkerSide: ...

    def start_worker(self) -> None:
        """Loads the model ahead of the first request, and says [signal worker_started] or
        [signal worker_failed]. Loaded with the same settings already, it only says so. Another
        model is replaced; what waited for it, or was being answered, is cancelled."""
        try:
            self._check_place()
            self._worker_side().load(self._load_spec())
        except RequestError as problem:
            self._refuse("worker_failed", problem)

    def has_model_file(self, path: str) -> bool:
        """Whether there is a file or folder at [param path], a path as [member model_path] has it.
        In an exported game, a res:// path means what the export placed beside the program or in the
        pack."""
        return is_there(path)

    def get_last_error(self) -> str:
        """Why the latest load or request failed, in one line; empty when none has."""
        return self._last_error

    def _enter_tree(self) -> None:
        self._is_leaving = False

    def _exit_tree(self) -> None:
        self._is_leaving = True  # to the engine it is still inside the tree
        for event in self._worker_side().close():
            self._tell(event)
        if godot.Engine.is_editor_hint():  # where plugins come and go, and leave no thread behind
            stop_unused_worker()

    def _tell(self, event: Event) -> None:
        """An event becomes signals; here those of loads."""
        match event:
            case LoadProgressed(fraction):
                self.load_progress.emit(fraction)
            case Loaded(info):
                if info.tokenizer.warning:
                    _warn(info.tokenizer.warning)
                self.worker_started.emit()
            case LoadFailed(error, details):
                self._note_error(error, details)
                self.worker_failed.emit(error)

    def _refuse(self, signal_name: str, problem: Exception) -> bool:
        """False; notes the problem and emits the signal with it, in a deferred call, so that who
        awaits the signal after the call is told."""
        self._note_error(str(problem))
        self.call_deferred("emit_signal", signal_name, str(problem))
        return False

    def _note_error(self, error: str, details: str = "") -> None:
        """Logs it, and keeps it for get_last_error()."""
        self._last_error = error
        godot.log_error(f"{error}\n{details}".rstrip())

    def _check_place(self) -> None:
        if not self.is_inside_tree() or self._is_leaving:
            raise RequestError("the node is not inside the tree; add it first")

    def _load_spec(self) -> LoadSpec:
        return spec_of(self.model_path, self.executor, self.context_length, self.quantize)


@cache
def _warn(text: str) -> None:
    """In the log, once: nodes of one file would all say the same."""
    godot.log_warning(text)
