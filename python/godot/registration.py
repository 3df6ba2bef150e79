"""A Python class -> a class of the engine, with properties, methods, signals and documentation.

Classes are registered as runtime classes: in the editor the engine puts a placeholder in edited
scenes, which shows and saves the properties but runs no Python. `exposed(tool=True)` is for classes
that must run there.
"""

from __future__ import annotations

from . import api, interface
from .arguments import read_pointers, read_variants, write_default, write_pointer, write_result
from .classes import add_class
from .exports import Method, Type, declared_by, export, exposed_parents
from .instances import ClassRecord, create_instance
from .interface import ffi, lib, string, string_name
from .log import report_exception
from .objects import Object, instance_of
from .variant import write_variant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

USAGE_DEFAULT = 6  # stored and shown in the inspector
USAGE_NIL_IS_VARIANT = 131072
CALL_OK, _, INVALID_ARGUMENT, TOO_MANY_ARGUMENTS, TOO_FEW_ARGUMENTS = range(5)


class Registered:
    """One exposed class, as the editor's help and the end of the extension need it."""

    def __init__(self, cls: type, parent: str, record: ClassRecord) -> None:
        self.cls = cls
        self.parent = parent
        self.record = record
        self.exports, self.signals, self.methods = declared_by(cls, _plain_bases(cls))
        self.handles: list[Any] = []  # what the engine holds addresses of


registered: dict[str, Registered] = {}  # parents before children


def exposed(cls: Any = None, *, tool: bool = False) -> Any:
    """Makes a Python class that inherits an engine class one of the engine's own, at once.

    What its plain Python bases declare counts as its own, so that a large class can be written in
    parts: `class LLM(Sampling, Conversation, Node)`.

    It belongs into a module that is imported at the start (`module` in runtime.cfg): of a class
    exposed later, an editor build lets only Python make objects, since it takes the class for one
    of the editor's.
    """
    if cls is None:
        return lambda wrapped: exposed(wrapped, tool=tool)
    name = cls.__name__
    if not issubclass(cls, Object):
        raise TypeError(f"{name} must inherit an engine class, such as Node")
    engine_bases = [base.__name__ for base in cls.__mro__[1:] if issubclass(base, Object)]
    parent = engine_bases[0]
    if not api.has_class(parent) and parent not in registered:
        raise TypeError(f"{name} inherits {parent}, which is neither the engine's nor exposed")
    if name in registered or api.has_class(name):
        raise TypeError(f"there is a class {name} already")
    native_parent = next(base for base in engine_bases if api.has_class(base))
    exposed_parents[name] = native_parent
    record = ClassRecord(cls, native_parent)
    entry = Registered(cls, parent, record)
    _register_class(entry, is_runtime=not tool)
    cls._create_instance = staticmethod(
        lambda: create_instance(record, lib.object_init_reference, notify=True)
    )
    registered[name] = entry
    cls.__setattr__ = object.__setattr__
    add_class(name, cls)
    group = ""
    for prop in entry.exports:
        _register_property(entry, prop, None if prop.group == group else prop.group)
        group = prop.group
    for declared in entry.signals:
        infos, _ = _property_infos(declared.arguments)
        lib.classdb_register_extension_class_signal(
            interface.library,
            string_name(name),
            string_name(declared.name),
            infos,
            len(declared.arguments),
        )
    for method in entry.methods:
        _register_method(entry, method)
    return cls


def _plain_bases(cls: type) -> list[type]:
    """Those that are neither the engine's nor exposed, and not a base of one that is."""
    inherited: set[type] = {object}
    for base in cls.__mro__[1:]:
        if issubclass(base, Object):
            inherited.update(base.__mro__)
    return [base for base in cls.__mro__[1:] if base not in inherited]


def unregister_all() -> None:
    """Children before parents, as the engine demands."""
    for name in reversed(list(registered)):
        lib.classdb_unregister_extension_class(interface.library, string_name(name))
    registered.clear()


def _register_class(entry: Registered, is_runtime: bool) -> None:
    info = ffi.new("GDExtensionClassCreationInfo4 *")
    info.is_exposed = 1
    info.is_runtime = is_runtime
    icon = getattr(entry.cls, "ICON", "")
    if icon:
        info.icon_path = string(icon)
    info.create_instance_func = lib.on_create_instance
    info.free_instance_func = lib.on_free_instance
    if hasattr(entry.cls, "_notification"):
        info.notification_func = lib.on_notification
    info.get_virtual_call_data_func = lib.on_find_virtual
    info.call_virtual_with_data_func = lib.on_call_virtual
    info.class_userdata = entry.record.handle
    lib.classdb_register_extension_class4(
        interface.library, string_name(entry.record.name), string_name(entry.parent), info
    )


def _fill_property_info(
    info: Any, name: str, declared: Type, hint: int = 0, hint_string: str = ""
) -> None:
    info.type = declared.kind
    info.name = string_name(name)
    info.class_name = string_name(declared.class_name)
    info.hint = hint
    info.hint_string = string(hint_string)
    info.usage = USAGE_DEFAULT | (USAGE_NIL_IS_VARIANT if declared.is_variant else 0)


def _property_infos(arguments: list[tuple[str, Type]]) -> tuple[Any, Any]:
    count = max(len(arguments), 1)
    infos = ffi.new("GDExtensionPropertyInfo[]", count)
    for i, (name, declared) in enumerate(arguments):
        _fill_property_info(infos[i], name, declared)
    return infos, ffi.new("GDExtensionClassMethodArgumentMetadata[]", count)


def _register_property(entry: Registered, prop: export, group: str | None) -> None:
    """`group` is the one that begins with this property; an empty one ends that before it."""
    # The engine wants a property's getter and setter to be methods.
    where = entry.record.name
    getter = Method(
        f"{where}.get_{prop.name}", lambda self: prop.__get__(self, type(self)), [], prop.type
    )
    setter = Method(f"{where}.set_{prop.name}", prop.__set__, [("value", prop.type)], Type("None"))
    for method in (getter, setter):
        _register_method(entry, method)
    library, class_name = interface.library, string_name(entry.record.name)
    if group is not None:
        lib.classdb_register_extension_class_property_group(
            library, class_name, string(group), string("")
        )
    info = ffi.new("GDExtensionPropertyInfo *")
    _fill_property_info(info, prop.name, prop.type, prop.hint, prop.hint_string)
    lib.classdb_register_extension_class_property(
        library, class_name, info, string_name(setter.name), string_name(getter.name)
    )


def _register_method(entry: Registered, method: Method) -> None:
    handle = ffi.new_handle(method)
    entry.handles.append(handle)
    info = ffi.new("GDExtensionClassMethodInfo *")
    info.name = string_name(method.name)
    info.method_userdata = handle
    info.call_func = lib.on_call_method
    info.ptrcall_func = lib.on_call_method_typed
    info.method_flags = lib.GDEXTENSION_METHOD_FLAGS_DEFAULT
    if method.is_static:
        info.method_flags |= lib.GDEXTENSION_METHOD_FLAG_STATIC
    result_info = ffi.new("GDExtensionPropertyInfo *")
    if not method.result.is_nothing:
        _fill_property_info(result_info, "", method.result)
        info.has_return_value = 1
        info.return_value_info = result_info
    infos, metadata = _property_infos(method.arguments)
    info.argument_count = len(method.arguments)
    info.arguments_info = infos
    info.arguments_metadata = metadata
    defaults = ffi.new("Value[]", max(len(method.defaults), 1))
    pointers = ffi.new("GDExtensionVariantPtr[]", max(len(method.defaults), 1))
    keep: list[Any] = []
    for i, default in enumerate(method.defaults):
        write_variant(defaults[i], default, keep)
        lib.value_open(ffi.addressof(defaults[i]))
        pointers[i] = ffi.addressof(defaults[i], "opaque")
    info.default_argument_count = len(method.defaults)
    info.default_arguments = pointers
    lib.classdb_register_extension_class_method(
        interface.library, string_name(entry.record.name), info
    )
    for i in range(len(method.defaults)):
        lib.value_shut(ffi.addressof(defaults[i]))


@ffi.def_extern()  # type: ignore[untyped-decorator]
def on_call_method(
    userdata: Any, handle: Any, arguments: Any, count: int, result: Any, error: Any
) -> None:
    method: Method = ffi.from_handle(userdata)
    declared = method.arguments
    error.error = CALL_OK
    if not method.required <= count <= len(declared):
        is_short = count < method.required
        error.error = TOO_FEW_ARGUMENTS if is_short else TOO_MANY_ARGUMENTS
        error.expected = method.required if is_short else len(declared)
        return
    try:
        items = read_variants(arguments, count)
        for i, item in enumerate(items):
            try:
                items[i] = declared[i][1].fit(item)
            except TypeError:
                error.error = INVALID_ARGUMENT
                error.argument = i
                error.expected = declared[i][1].kind
                return
        write_result(_call(method, handle, items), method.result, result)
    except BaseException:
        report_exception(method.where)
        write_default(method.result, result)


@ffi.def_extern()  # type: ignore[untyped-decorator]
def on_call_method_typed(userdata: Any, handle: Any, arguments: Any, result: Any) -> None:
    method: Method = ffi.from_handle(userdata)
    try:
        items = read_pointers(arguments, [declared for _, declared in method.arguments])
        returned = _call(method, handle, items)
        if not method.result.is_nothing:
            write_pointer(result, returned, method.result)
    except BaseException:
        report_exception(method.where)


def _call(method: Method, handle: Any, items: list[Any]) -> Any:
    if method.is_static:
        return method.function(*items)
    return method.function(instance_of(handle), *items)
