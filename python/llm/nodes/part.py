"""What the parts of the LLM node use of the whole: the class itself says how."""

from typing import TYPE_CHECKING, Any

from llm.errors import LLMError
from llm.generate.client import Client
from llm.generate.request import LoadSpec


class NodePart:
    system_prompt: str
    model_path: str

    if TYPE_CHECKING:  # at run time it is the engine's

        def is_inside_tree(self) -> bool: ...

    def _conversing(self) -> Client:
        """The node's side of the worker."""
        raise NotImplementedError

    def _load_spec(self) -> LoadSpec:
        raise NotImplementedError

    def _note_error(self, error: str, details: str = "") -> None:
        """Logs it, and keeps it for get_last_error()."""
        raise NotImplementedError

    def _refuse(self, signal_name: str, problem: LLMError) -> bool:
        """False; notes the problem and emits the signal with it, in a deferred call, so that who
        awaits the signal after the call is told."""
        self._note_error(str(problem))
        engine: Any = self
        engine.call_deferred("emit_signal", signal_name, str(problem))
        return False
