"""jinja2's immutable sandbox with a budget, and with the names that chat templates expect.

The sandbox keeps a template from reaching Python's objects, but not from looping for ever or
filling the memory. So the parsed template is rewritten: each loop, operation and output passes
through a filter that looks at the budget. Filters and methods are those of a short list, each
with a bound on what it makes. Imported only when a template is compiled: jinja2 takes a while.
"""

import datetime
import functools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from types import BuiltinMethodType
from typing import Any, NoReturn

from jinja2 import Template, TemplateError, Undefined
from jinja2.ext import loopcontrols
from jinja2.filters import FILTERS
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.tests import TESTS
from jinja2.utils import Namespace, pass_context

from llm.text.template_bounds import (
    FILTER_BOUNDS,
    METHOD_BOUNDS,
    conversions_bound,
    fields_bound,
)
from llm.text.template_budget import Budget
from llm.text.template_watch import (
    JOINED,
    KEPT,
    PRINTED,
    TICK,
    WEIGHED,
    GenerationBlocks,
    Watcher,
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# They look at no more than one item, however heavy their value is.
_QUICK_FILTERS = _words("count d default first last length")
_FILTERS = _words(
    "abs attr capitalize dictsort e escape float forceescape groupby int items list lower map max "
    "min reject rejectattr reverse safe select selectattr sort string title trim truncate unique "
    "upper wordcount"
)

# The methods of plain values. None makes more than it gets, except those with a bound.
_METHODS: dict[type, frozenset[str]] = {
    str: _words(
        "capitalize casefold count endswith find format format_map index isalnum isalpha isascii "
        "isdecimal isdigit islower isnumeric isspace istitle isupper join lower lstrip partition "
        "removeprefix removesuffix replace rfind rindex rpartition rsplit rstrip split splitlines "
        "startswith strip swapcase title upper"
    ),
    dict: _words("copy get items keys values"),
    list: _words("copy count index"),
    tuple: _words("count index"),
    **dict.fromkeys((int, float, bytes, range), frozenset()),
}


class LimitedEnvironment(ImmutableSandboxedEnvironment):
    """One for each template, as it has the budget of a rendering: `budget.start()` begins one."""

    intercepted_binops = frozenset(("+", "-", "*", "/", "//", "%", "**"))

    def __init__(self) -> None:
        # Not optimized: that would compute constants while compiling, outside of the budget.
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            optimized=False,
            extensions=[loopcontrols, GenerationBlocks],
        )
        self.budget = budget = Budget()
        self.concat = budget.concat  # type: ignore[method-assign]
        self.filters = {name: FILTERS[name] for name in _QUICK_FILTERS}
        self.filters |= {name: self._watched(FILTERS[name]) for name in _FILTERS}
        for name, bound in FILTER_BOUNDS.items():
            self.filters[name] = self._watched(FILTERS[name], bound)
        self.filters["format"] = self._watched(
            FILTERS["format"],
            lambda text, *args, **kwargs: conversions_bound(
                str(text), budget.weigh([args, kwargs])
            ),
        )
        self.filters["tojson"] = self._watched(self._to_json)
        self.filters |= {
            TICK: pass_context(lambda _, value: budget.tick()),
            WEIGHED: pass_context(lambda _, value: self._weighed(value)),
            KEPT: pass_context(lambda _, value: budget.kept(value)),
            PRINTED: pass_context(lambda _, value: self._text(value)),
            JOINED: pass_context(lambda _, values: budget.concat(map(self._text, values))),
        }
        tests: dict[str, Any] = TESTS
        self.tests = {name: self._watched(test) for name, test in tests.items()}
        self.globals = {
            "range": budget.range,
            "dict": dict,
            "namespace": _Namespace,
            "cycler": self.globals["cycler"],
            "joiner": self.globals["joiner"],
            "raise_exception": _raise_exception,
            "strftime_now": _strftime_now,
        }

    def compiled(self, source: str) -> Template:
        return self.from_string(Watcher(self).visit(self.parse(source)))

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if isinstance(obj, type):
            return False
        for kind, methods in _METHODS.items():
            if isinstance(obj, kind):
                return attr in methods
        return super().is_safe_attribute(obj, attr, value)

    def call(self, context: Context, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        with self.budget.nested():
            self._weigh_all(args, kwargs)
            if isinstance(function, BuiltinMethodType):
                self.budget.weigh(function.__self__)
                bound = METHOD_BOUNDS.get(function.__name__)
                if bound is not None and isinstance(function.__self__, str):
                    self.budget.expect(bound(function.__self__, *args, **kwargs))
            return self.budget.kept(super().call(context, function, *args, **kwargs))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        self.budget.tick()
        if operator == "+":
            left, right = _addable(left, right)
        elif operator == "%" and isinstance(left, str):
            self.budget.expect(conversions_bound(left, self.budget.weigh(right)))
        elif operator == "*":
            for value, times in ((left, right), (right, left)):
                if isinstance(value, Sequence) and isinstance(times, int):
                    self.budget.expect(self.budget.weigh(value) * times)
        elif operator == "**" and isinstance(left, int) and isinstance(right, int):
            self.budget.expect_bits(left.bit_length() * right)
        self._weigh_all([value for value in (left, right) if isinstance(value, int)], {})
        return self.budget.kept(super().call_binop(context, operator, left, right))

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        format = super().wrap_str_format(value)
        if format is None:
            return None

        def limited(*args: Any, **kwargs: Any) -> str:
            weight = self._weigh_all(args, kwargs)
            self.budget.expect(fields_bound(value.__self__, weight))
            return format(*args, **kwargs)

        return limited

    def _watched(
        self, function: Callable[..., Any], bound: Callable[..., int] | None = None
    ) -> Callable[..., Any]:
        """A filter or test; `bound` says from its arguments how many characters it may make."""
        # The environment or context, which jinja2 puts before the value.
        before = 1 if hasattr(function, "jinja_pass_arg") else 0

        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            self.budget.tick()
            self._weigh_all(args[before:], kwargs)
            if bound is not None:
                self.budget.expect(bound(*args[before:], **kwargs))
            return self.budget.kept(function(*args, **kwargs))

        return watched

    def _weigh_all(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:
        return sum(map(self.budget.weigh, (*args, *kwargs.values())))

    def _weighed(self, value: Any) -> Any:
        self.budget.tick()
        self.budget.weigh(value)
        return value

    def _text(self, value: Any) -> str:
        self.budget.tick()
        self.budget.weigh(value)
        return str(value)

    def _to_json(
        self,
        value: Any,
        ensure_ascii: bool = False,
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        sort_keys: bool = False,
    ) -> str:
        """Unlike jinja2's own filter it escapes nothing for HTML: models read this."""
        if not (indent is None or (isinstance(indent, int) and 0 <= indent <= 16)):
            raise ValueError("tojson indents by 0 to 16 spaces")
        encoder = json.JSONEncoder(
            ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
        )
        return self.budget.concat(encoder.iterencode(value))


class _Namespace(Namespace):
    def __repr__(self) -> str:
        """Not what it holds, which is not weighed: namespaces may hold one another."""
        return "<namespace>"


def _addable(left: Any, right: Any) -> tuple[Any, Any]:
    """Beside a text, an undefined name is empty, and a mapping is its JSON: arguments of a call,
    which some templates want as text."""
    if isinstance(left, str):
        return left, _added(right)
    if isinstance(right, str):
        return _added(left), right
    return left, right


def _added(value: Any) -> Any:
    if isinstance(value, Undefined):
        return ""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping) else value


def _raise_exception(message: str) -> NoReturn:
    raise TemplateError(message)


def _strftime_now(format: str) -> str:
    # The C library pads fields to any width.
    if re.search(r"\d{3}", format):
        raise ValueError("strftime_now takes no field wider than 99")
    return datetime.datetime.now().strftime(format)
