"""Rewrites a parsed template, so that whatever it does passes through filters of ours.

These filters look at the budget; which do what is written beside their names.
"""

from jinja2 import Environment, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.visitor import NodeTransformer

# Names that no template can spell, as a name has no space.
TICK = "a tick"  # time is looked at
WEIGHED = "a weighed"  # a value that is looked through
KEPT = "a kept"  # a new value
PRINTED = "a printed"  # a value as text
JOINED = "a joined"  # values as one text


class Watcher(NodeTransformer):
    """Puts the filters of the budget into a parsed template."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def visit_For(self, node: nodes.For) -> nodes.For:  # noqa: N802
        self.generic_visit(node)
        tick = self._through(TICK, nodes.Const(None, lineno=node.lineno), node.lineno)
        node.body.insert(0, nodes.ExprStmt(tick, lineno=node.lineno))
        return node

    def visit_Output(self, node: nodes.Output) -> nodes.Output:  # noqa: N802
        self.generic_visit(node)
        node.nodes = [
            child
            if isinstance(child, nodes.TemplateData)
            else self._through(PRINTED, child, node.lineno)
            for child in node.nodes
        ]
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Expr:  # noqa: N802
        self.generic_visit(node)
        return self._through(JOINED, nodes.List(node.nodes, lineno=node.lineno), node.lineno)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Compare:  # noqa: N802
        self.generic_visit(node)
        node.expr = self._through(WEIGHED, node.expr, node.lineno)
        for operand in node.ops:
            operand.expr = self._through(WEIGHED, operand.expr, node.lineno)
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Expr:  # noqa: N802
        self.generic_visit(node)
        if isinstance(node.arg, nodes.Slice):
            return self._through(KEPT, node, node.lineno)
        node.arg = self._through(WEIGHED, node.arg, node.lineno)  # hashing looks through it
        return node

    def visit_Pair(self, node: nodes.Pair) -> nodes.Pair:  # noqa: N802
        self.generic_visit(node)
        node.key = self._through(WEIGHED, node.key, node.lineno)
        return node

    def visit_ScopedEvalContextModifier(  # noqa: N802
        self, node: nodes.ScopedEvalContextModifier
    ) -> list[nodes.Node]:
        """`autoescape`: jinja2 computes its value while compiling, and no prompt is HTML."""
        self.generic_visit(node)
        return node.body

    def _through(self, filter: str, node: nodes.Expr, line: int) -> nodes.Filter:
        wrapped = nodes.Filter(node, filter, [], [], None, None, lineno=line)
        return wrapped.set_environment(self._environment)  # type: ignore[return-value]


class GenerationBlocks(Extension):
    """`{% generation %}`: marks for training what the model says. Here it means nothing."""

    tags = {"generation"}  # noqa: RUF012  (so declared by jinja2)

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)
