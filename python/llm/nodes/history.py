"""The part of the LLM node that is its conversation: read, changed, saved and loaded."""

from typing import Any

from godot import ProjectSettings, signal
from llm.errors import LLMError, RequestError
from llm.nodes.conversing import Conversing


class History(Conversing):
    history_truncated = signal(
        dropped=int,
        doc="The conversation did not fit: so many of its oldest messages were left out.",
    )
    state_saved = signal(
        error=str,
        doc="Once for each [method save_state], a frame later or more: it is over. Empty, or why "
        "the file was not written, or lacks what was computed.",
    )
    state_loaded = signal(
        error=str,
        doc="Once for each [method load_state], a frame later or more: it is over. Empty, or why "
        "the conversation was not loaded, or has to be computed anew.",
    )

    def edit_message(self, index: int, text: str) -> None:
        """Puts another text in the place of one in [method get_chat_history]. The next answer
        follows from it. While a request runs, or where there is no such message, an error."""
        try:
            self._conversing().edit_message(index, text)
        except RequestError as problem:
            self._note_error(str(problem))

    def get_chat_history(self) -> list[Any]:
        """The conversation, oldest first: a Dictionary with role (user, assistant, system or tool)
        and content for each message; where there was some, with reasoning, tool_calls (of the
        model) and name (of the tool whose result it is). A turn appears when its answer has
        ended."""
        return list(self._conversing().conversation.messages())

    def set_chat_history(self, messages: list[Any]) -> None:
        """Replaces the conversation, in the form of [method get_chat_history]; the first message
        may have role system. A running request is cancelled and leaves nothing. A bad message is
        an error, and changes nothing."""
        try:
            self._conversing().replace_history(messages)
        except RequestError as problem:
            self._note_error(str(problem))

    def reset_context(self) -> None:
        """Begins a new conversation: empties the history and forgets what was computed. A running
        request is cancelled and leaves nothing."""
        self._conversing().reset()

    def save_state(self, path: str, with_cache: bool = False) -> bool:
        """Saves the conversation and [member system_prompt] in a file, a user:// or absolute path.

        The file is there when the call returns. [param with_cache] has what the loaded model
        computed added, so that after [method load_state] the next answer need not compute it again;
        that takes up to some hundred KB a token, and time: wait for [signal state_saved].

        False, and an error, while a request runs, and where the file cannot be written."""
        try:
            file = ProjectSettings.globalize_path(path)
            self._conversing().save_state(file, self.system_prompt, with_cache=with_cache)
        except LLMError as problem:
            return self._refuse("state_saved", problem)
        return True

    def load_state(self, path: str) -> bool:
        """Takes the conversation and [member system_prompt] from a file of [method save_state].

        They are there when the call returns. A running request is cancelled and leaves nothing.
        Where the file has what a model computed, that follows before the next answer: inside the
        tree, the model loads for it. It is of use to the same model alone, on any [member
        executor]; where it is of none, [signal state_loaded] says so, and that is all.

        False, and an error, where there is no such file or it is damaged; nothing changes then."""
        try:
            file = ProjectSettings.globalize_path(path)
            spec = self._load_spec() if self.model_path and self.is_inside_tree() else None
            self.system_prompt = self._conversing().load_state(file, spec, self._adapter_uses())
        except LLMError as problem:
            return self._refuse("state_loaded", problem)
        return True
