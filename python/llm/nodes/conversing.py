"""What the parts of the LLM node use of the whole: the class itself, and ModelUser, have it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llm.generate.client import Client
    from llm.generate.request import AdapterUse, LoadSpec


class Conversing:
    if TYPE_CHECKING:
        system_prompt: str
        model_path: str

        def is_inside_tree(self) -> bool: ...

        def _conversing(self) -> Client: ...

        def _adapter_uses(self) -> tuple[AdapterUse, ...]: ...

        def _load_spec(self) -> LoadSpec: ...

        def _note_error(self, error: str, details: str = "") -> None: ...

        def _refuse(self, signal_name: str, problem: Exception) -> bool: ...
