"""The node that says which model files there are, and what is in them."""

import os
import traceback
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

import godot
from godot import Node, PackedStringArray, exposed, signal
from llm.errors import LLMError
from llm.generate.background import Background
from llm.nodes.model_places import locate

Tell = Callable[[], None]

_background: Background | None = None


def _shared_background() -> Background:
    global _background
    if _background is None:
        _background = Background()
        godot.on_shutdown(_background.stop)
    return _background


@exposed(tool=True)
class LLMModelFiles(Node):
    """Finds model files and says what they are, as [code]./llm info[/code] does: in the editor, and
    in games that let players choose a model.

    Files are looked at on a thread, a beginning of each; no model is loaded. Every signal comes on
    the main thread, in [method Node._process]. What is asked is done in its order; leaving the
    tree, the node forgets what it was asked.
    """

    found = signal(
        paths=PackedStringArray,
        doc="The answer to [method find]: GGUF files, of those in several files the first, and "
        "Hugging Face folders, in the order of their names. Absolute paths.",
    )
    described = signal(
        path=str,
        facts=dict,
        doc="The answer to [method describe]. With error: why there is nothing else, or empty. "
        "[code]kind, file_bytes, architecture, name, parameters[/code]: of all files. "
        "[code]supported, problem, context_length, layers, width, heads, kv_heads, vocabulary, "
        "formats, chat_template, gpu_bytes, numpy_bytes, …[/code]: of models, null where the file "
        "does not say. [code]rank, alpha[/code]: of LoRA adapters. "
        "[code]fits[/code]: whether it will load here; null where that is not known. "
        "[code]rows[/code]: all of it for people, an Array of names and texts. "
        "[code]files[/code] and [code]disk_bytes[/code]: how many files it is, and their size. "
        "[code]modified[/code]: when it changed last, in seconds since 1970.",
    )

    def __init__(self) -> None:
        self._told: SimpleQueue[Tell] = SimpleQueue()

    def find(self, folders: PackedStringArray) -> None:
        """Looks for model files in folders and those in them: res://, user:// or absolute paths.
        [signal found] tells. Folders that begin with a dot are passed over, unless they are named
        here."""
        places = [locate(folder) for folder in folders]

        def look() -> Tell:
            from llm.files.finding import find_models

            paths = find_models(places)
            return lambda: self.found.emit(PackedStringArray(paths))

        self._post(look, lambda _error: self.found.emit(PackedStringArray([])))

    def describe(self, path: str, context_length: int = 4096) -> None:
        """Says what a file or folder is, and whether it fits with room for so many tokens.
        [signal described] tells."""
        place = locate(path)

        def look() -> Tell:
            facts = _facts(place, context_length)
            return lambda: self.described.emit(path, facts)

        self._post(look, lambda error: self.described.emit(path, {"error": error}))

    def _process(self, delta: float) -> None:
        while True:
            try:
                self._told.get_nowait()()
            except Empty:
                return

    def _exit_tree(self) -> None:
        self._told = SimpleQueue()

    def _post(self, look: Callable[[], Tell], fail: Callable[[str], None]) -> None:
        told = self._told

        def job() -> None:
            if told is not self._told:
                return
            try:
                told.put(look())
            except Exception as problem:
                if not isinstance(problem, (LLMError, OSError)):
                    traceback.print_exc()
                error = str(problem) or type(problem).__name__
                told.put(lambda: fail(error))

        _shared_background().post(job)


def _facts(path: str, context_length: int) -> dict[str, Any]:
    from llm.files.finding import files_of
    from llm.generate.model_report import Machine, read_report, shown
    from llm.gpu.device.memory import available_ram
    from llm.gpu.device.vulkan_memory import device_memory

    report = read_report(
        path, max(context_length, 1), "", Machine(device_memory(), available_ram())
    )
    files = [os.stat(name) for name in files_of(path)]
    return {
        **report.facts,
        "error": "",
        "fits": report.fits,
        "rows": [[name, shown(value)] for name, value in report.rows],
        "files": len(files),
        "disk_bytes": sum(each.st_size for each in files),
        "modified": max(int(each.st_mtime) for each in files),
    }
