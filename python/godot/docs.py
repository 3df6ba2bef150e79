"""The editor's help for exposed classes, from docstrings and `doc=` texts."""

from __future__ import annotations

from .exports import Method, Type
from .interface import lib
from .registration import Registered, registered


def load_help() -> None:
    """Hands every exposed class's page to the editor."""
    for entry in registered.values():
        lib.editor_help_load_xml_from_utf8_chars(class_page(entry).encode())


def class_page(entry: Registered) -> str:
    """One class's page in the engine's class reference XML."""
    brief, _, rest = _clean(entry.cls.__doc__ or "").partition("\n")
    lines = [
        '<?xml version="1.0" encoding="UTF-8" ?>',
        f'<class name="{entry.record.name}" inherits="{entry.parent}" version="4.0">',
        f"<brief_description>{_escape(brief)}</brief_description>",
        f"<description>{_escape(rest or brief)}</description>",
        "<methods>",
        *(_method(method) for method in entry.methods),
        "</methods>",
        "<members>",
        *(
            f'<member name="{prop.name}" type="{_type(prop.type)}" '
            f'setter="set_{prop.name}" getter="get_{prop.name}" '
            f'default="{_escape(_literal(prop.default))}">{_escape(_clean(prop.doc))}</member>'
            for prop in entry.exports
        ),
        "</members>",
        "<signals>",
        *(
            f'<signal name="{declared.name}">{_parameters(declared.arguments)}'
            f"<description>{_escape(_clean(declared.doc))}</description></signal>"
            for declared in entry.signals
        ),
        "</signals>",
        "</class>",
    ]
    return "\n".join(lines)


def _method(method: Method) -> str:
    first_default = method.required
    qualifiers = ' qualifiers="static"' if method.is_static else ""
    parameters = _parameters(method.arguments, dict(enumerate(method.defaults, first_default)))
    return (
        f'<method name="{method.name}"{qualifiers}><return type="{_type(method.result)}" />'
        f"{parameters}"
        f"<description>{_escape(_clean(method.doc))}</description></method>"
    )


def _parameters(
    arguments: list[tuple[str, Type]], defaults: dict[int, object] | None = None
) -> str:
    parts = []
    for i, (name, declared) in enumerate(arguments):
        default = (
            f' default="{_escape(_literal(defaults[i]))}"' if defaults and i in defaults else ""
        )
        parts.append(f'<param index="{i}" name="{name}" type="{_type(declared)}"{default} />')
    return "".join(parts)


def _type(declared: Type) -> str:
    if declared.is_variant:
        return "Variant"
    return declared.class_name or declared.name or "void"


def _literal(value: object) -> str:
    """A default as GDScript spells it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)


def _clean(text: str) -> str:
    """A docstring without its indentation: one line a paragraph, as the editor wants it."""
    lines = [line.strip() for line in text.strip().splitlines()]
    paragraphs = "\n".join(lines).split("\n\n")
    return "\n".join(" ".join(paragraph.split("\n")) for paragraph in paragraphs)


def _escape(text: str) -> str:
    return (
        text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    )
