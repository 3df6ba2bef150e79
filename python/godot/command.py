"""The node that run.gd adds: runs a module's `main` and quits with what it returns."""

from __future__ import annotations

from . import Node, export, exposed
from .packed import PackedStringArray

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@exposed
class PythonCommand(Node):
    """Imports a Python module and calls its [code]main(node, arguments)[/code].

    An int that it returns ends the engine with that exit code; after None it goes on until the
    module itself calls [code]get_tree().quit(code)[/code]. An exception is printed once and ends
    the engine with code 1.
    """

    module = export(str, doc="A module's dotted name, or the path of a .py file.")
    arguments = export(PackedStringArray, doc="What main gets as its list of arguments.")

    def _ready(self) -> None:
        code = self._run()
        if code is not None:
            self.get_tree().quit(code)

    def _run(self) -> int | None:
        import sys

        try:
            main = _find_main(self.module)
            result: int | None = main(self, list(self.arguments))
            return result
        except SystemExit as stop:
            if stop.code is None or isinstance(stop.code, int):
                return stop.code or 0
            sys.stderr.write(f"{stop.code}\n")
        except BaseException:
            import traceback

            traceback.print_exc()
        return 1


def _find_main(name: str) -> Any:
    import importlib
    import importlib.util
    import os

    if not name.endswith(".py"):
        return importlib.import_module(name).main
    spec = importlib.util.spec_from_file_location(
        os.path.basename(name)[:-3], os.path.abspath(name)
    )
    if spec is None or spec.loader is None or not os.path.exists(name):
        raise FileNotFoundError(f"there is no {name}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main
