"""Classes of the editor's test project, imported at the engine's start as an add-on's are."""

from godot import RANGE, Engine, Node, export, exposed, signal

_in_tree: list[str] = []


@exposed
class EditedNode(Node):
    """A node that only shows itself in the editor.

    It has [member level] & no more.
    """

    level = export(float, default=0.5, hint=RANGE, hint_string="0,1,0.25", doc="How <much>.")
    changed = signal(level=float, doc="The level is another.")

    def answer(self, question: int, again: bool = False) -> int:
        """Answers [param question]."""
        return question + again

    def _enter_tree(self) -> None:
        _in_tree.append("edited")


@exposed(tool=True)
class EditedTool(Node):
    """A node that runs in the editor, too."""

    def answer(self) -> bool:
        return bool(Engine.is_editor_hint())

    def edited_nodes_in_tree(self) -> int:
        return len(_in_tree)
