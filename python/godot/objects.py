"""Engine objects and classes as Python objects and classes.

A class is made when it is first asked for, from the data of api.py; a method finds its binding in the engine when it is
first called. An object of the engine is a proxy: two proxies of one object are equal, not identical. A RefCounted one
is held by its proxy; of any other the proxy notices, by its instance id, that it was freed. Instances of `exposed`
classes are themselves, never proxies.
"""

from __future__ import annotations

from . import api, interface
from .interface import TYPES, ffi, lib, string_name
from .signals import BoundSignal, SignalOfClass
from .variant import OBJECT, READERS, TYPED_WRITERS, add_writer, read, write_variant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable as Function
    from typing import Any

POSTINITIALIZE = 0  # Object.NOTIFICATION_POSTINITIALIZE

_CALL_ERRORS = {
    1: "there is no such method",
    2: "argument {argument} has the wrong type",
    3: "too many arguments, {expected} wanted",
    4: "too few arguments, {expected} wanted",
    5: "the object is null",
    6: "the method is not const",
}


class FreedObjectError(ReferenceError):
    """The engine's object behind a Python one is gone."""


class ObjectType(type):
    """Calling a class makes an object of the engine."""

    def __call__(cls, *arguments: Any) -> Any:
        if arguments:
            raise TypeError(f"{cls.__name__}() takes no arguments: the engine makes objects without any")
        create = cls.__dict__.get("_create_instance")
        if create is not None:
            return create()
        name = cls.__name__
        pointer = lib.classdb_construct_object2(string_name(name))
        if pointer == ffi.NULL:
            raise TypeError(f"the engine makes no objects of class {name}")
        is_ref_counted = api.is_ref_counted(name)
        if is_ref_counted:
            lib.object_init_reference(pointer)
        proxy = _proxy(cls, pointer, lib.object_get_instance_id(pointer), is_ref_counted)
        proxy.notification(POSTINITIALIZE)
        return proxy


class Object(metaclass=ObjectType):
    """The engine's base class."""

    _pointer: Any = ffi.NULL
    _id = 0  # instance id
    _check = 0  # the instance id where the object may be freed by others, else 0
    _owned = False  # this proxy holds a reference

    if TYPE_CHECKING:  # of the engine's own methods, those that this module calls
        get: Function[[str], Any]
        set: Function[[str, Any], None]
        has_method: Function[[str], bool]
        has_signal: Function[[str], bool]
        get_property_list: Function[[], list[dict[str, Any]]]

    def free(self) -> None:
        """Destroys the object now. RefCounted ones destroy themselves."""
        if self._owned or not self._check:
            raise TypeError(f"a {type(self).__name__} is not freed by hand")
        lib.object_destroy(pointer_of(self))

    def is_freed(self) -> bool:
        """Whether the engine's object is gone."""
        return bool(self._check) and lib.object_get_instance_from_id(self._check) == ffi.NULL

    def __getattr__(self, name: str) -> Any:
        """What the class does not have, a script on the object, or its class in the engine, may."""
        if not name.startswith("_") and self._pointer != ffi.NULL:
            if self.has_method(name):
                return _dynamic_method(self, name)
            if self.has_signal(name):
                return BoundSignal(self, name)
            if _has_property(self, name):
                return self.get(name)
        raise AttributeError(f"{type(self).__name__} has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        # Exposed classes have Python's own __setattr__ back; this is for proxies, where a new attribute would be lost.
        if name.startswith("_") or hasattr(type(self), name):
            object.__setattr__(self, name, value)
        elif _has_property(self, name):
            self.set(name, value)
        else:
            raise AttributeError(f"{type(self).__name__} has no property '{name}'")

    def __del__(self) -> None:
        if self._owned:
            self._owned = False
            lib.object_release(self._pointer)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Object) and self._id == other._id

    def __hash__(self) -> int:
        return hash(self._id)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}#{self._id}>"


def _proxy(cls: type, pointer: Any, instance_id: int, owned: bool) -> Any:
    proxy = object.__new__(cls)
    proxy._pointer = pointer
    proxy._id = instance_id
    if owned:
        proxy._owned = True
    else:
        proxy._check = instance_id
    return proxy


def _dynamic_method(self: Object, name: str) -> Any:
    """A method that only the engine knows of, called by name."""
    where = f"{type(self).__name__}.{name}"

    def call(*arguments: Any) -> Any:
        return _call_variants(
            where,
            lambda *rest: lib.object_call(self._pointer, self._check, string_name(name), *rest),
            arguments,
        )

    return call


def _has_property(self: Object, name: str) -> bool:
    return any(info["name"] == name for info in self.get_property_list())


def pointer_of(value: Object) -> Any:
    """The engine's pointer; raises FreedObjectError where the object is gone."""
    if value._check and lib.object_get_instance_from_id(value._check) == ffi.NULL:
        raise FreedObjectError(f"{value!r} was freed")
    return value._pointer


# --- classes ---------------------------------------------------------------------------------------------------------

_classes: dict[str, Any] = {}
_classes_by_identity: dict[int, Any] = {}  # interface.identity() of the class name
_singletons: dict[str, Any] = {}


def engine_class(name: str) -> Any:
    """The Python class of an engine class; raises LookupError for one that the binding does not carry."""
    found = _classes.get(name)
    if found is None:
        if not api.has_class(name):
            raise LookupError(f"no engine class '{name}' here; python/godot/building/in_use.py lists those that are")
        members = api.members_of(name)
        namespace: dict[str, Any] = dict(members.constants)
        namespace.update((signal, SignalOfClass(signal)) for signal in members.signals)
        namespace.update((prop, _Property(*accessors)) for prop, accessors in members.properties.items())
        namespace.update(
            (method, _Method(name, method, data))
            for method, data in members.methods.items()
            if not data[1] & api.VIRTUAL
        )
        namespace["__module__"] = "godot"
        if name == "Object":
            found = Object
            for key, value in namespace.items():
                if key not in Object.__dict__:
                    setattr(Object, key, value)
        else:
            found = ObjectType(name, (engine_class(api.parent_of(name)),), namespace)
        _classes[name] = found
    return found


def add_class(name: str, cls: type) -> None:
    """Makes `cls` the Python class of what the engine knows as `name`."""
    _classes[name] = cls


def _class_of(value: Any) -> Any:
    """The Python class for an object read: its own, or the nearest ancestor that there is one for."""
    identity = value.opaque[1]
    found = _classes_by_identity.get(identity)
    if found is None:
        object_type = engine_class("Object")
        holder = _proxy(object_type, value.object, value.opaque[2], False)
        name = holder.get_class()
        class_db = lookup("ClassDB")
        while found is None:
            try:
                found = engine_class(name)
            except LookupError:
                name = class_db.get_parent_class(name)
        _classes_by_identity[identity] = found
    return found


def lookup(name: str) -> Any:
    """What `from godot import NAME` gives: a singleton, a class or a global constant."""
    if name in api.SINGLETONS:
        return singleton(name)
    if name in api.CONSTANTS:
        return api.CONSTANTS[name]
    try:
        return engine_class(name)
    except LookupError as error:
        raise AttributeError(str(error)) from None


def singleton(name: str) -> Any:
    """An engine singleton such as Engine; raises AttributeError where this process has none (EditorInterface in a game)."""
    found = _singletons.get(name)
    if found is None:
        pointer = lib.global_get_singleton(string_name(name))
        if pointer == ffi.NULL:
            raise AttributeError(f"there is no {name} in this process")
        found = object.__new__(engine_class(api.SINGLETONS[name]))
        found._pointer = pointer
        found._id = lib.object_get_instance_id(pointer)
        _singletons[name] = found
    return found


# --- methods and properties ------------------------------------------------------------------------------------------


class _Method:
    """A method not called so far: the first access puts a function in its place."""

    __slots__ = ("_class_name", "_data", "_name")

    def __init__(self, class_name: str, name: str, data: tuple[int, int, str, tuple[str, ...]]) -> None:
        self._class_name = class_name
        self._name = name
        self._data = data

    def __get__(self, instance: Any, owner: type) -> Any:
        function: Any = _make_method(self._class_name, self._name, *self._data)
        if self._data[1] & api.STATIC:
            function = staticmethod(function)
        setattr(engine_class(self._class_name), self._name, function)
        return function.__get__(instance, owner)


def method_bind(class_name: str, name: str, method_hash: int) -> Any:
    """The engine's binding of a method. Raises RuntimeError where its signature is not the one that we know."""
    bind = lib.classdb_get_method_bind(string_name(class_name), string_name(name), method_hash)
    if bind == ffi.NULL:
        raise RuntimeError(
            f"{class_name}.{name} is not in {interface.version} as Godot {api.VERSION} has it; "
            "build the add-on anew for this engine (scons godot=PATH)"
        )
    return bind


def _make_method(class_name: str, name: str, method_hash: int, flags: int, result: str, types: tuple[str, ...]) -> Any:
    bind = method_bind(class_name, name, method_hash)
    where = f"{class_name}.{name}"
    count = len(types)
    result_type = TYPES.get(result, OBJECT)
    result_is_variant = result == "Variant"
    result_is_reference = api.is_ref_counted(result)
    writers = [TYPED_WRITERS.get(kind) or _object_writer(kind) for kind in types]
    is_typed = not flags & api.VARARG and (result in TYPES or api.has_class(result) or result_is_variant)
    is_typed = is_typed and all(kind in TYPED_WRITERS or api.has_class(kind) for kind in types)

    def call_typed(pointer: Any, check: int, arguments: tuple[Any, ...]) -> Any:
        values = ffi.new("Value[]", count) if count else ffi.NULL
        keep: list[Any] = []
        for i, argument in enumerate(arguments):
            try:
                writers[i](values[i], argument, keep)
            except (TypeError, OverflowError) as error:
                raise type(error)(f"{where}, argument {i + 1} ({types[i]}): {error}") from None
        value = ffi.new("Value *")
        if result_is_variant:
            value.as_variant = 1
        else:
            value.type = result_type
            value.owned = result_is_reference
        if not lib.method_call_typed(bind, pointer, check, values, count, value):
            raise FreedObjectError(f"{where}: the object was freed")
        return read(value)

    def call_variants(pointer: Any, check: int, arguments: tuple[Any, ...]) -> Any:
        return _call_variants(where, lambda *rest: lib.method_call_variants(bind, pointer, check, *rest), arguments)

    def call(self: Any, *arguments: Any) -> Any:
        if is_typed and len(arguments) == count:
            return call_typed(self._pointer, self._check, arguments)
        return call_variants(self._pointer, self._check, arguments)

    def call_static(*arguments: Any) -> Any:
        if is_typed and len(arguments) == count:
            return call_typed(ffi.NULL, 0, arguments)
        return call_variants(ffi.NULL, 0, arguments)

    function = call_static if flags & api.STATIC else call
    function.__name__ = name
    function.__qualname__ = where
    return function


def _call_variants(where: str, function: Function[..., bool], arguments: tuple[Any, ...]) -> Any:
    """A call whose omitted arguments the engine fills in."""
    count = len(arguments)
    values = ffi.new("Value[]", count) if count else ffi.NULL
    keep: list[Any] = []
    for i, argument in enumerate(arguments):
        write_variant(values[i], argument, keep)
    result = ffi.new("Value *")
    error = ffi.new("GDExtensionCallError *")
    if not function(values, count, result, error):
        raise FreedObjectError(f"{where}: the object was freed")
    if error.error:
        reason = _CALL_ERRORS[error.error].format(argument=error.argument + 1, expected=error.expected)
        raise TypeError(f"{where}: {reason}")
    return read(result)


class _Property:
    """A property of an engine class, by its getter and setter."""

    __slots__ = ("_getter", "_index", "_setter")

    def __init__(self, getter: str, setter: str, index: int) -> None:
        self._getter = getter
        self._setter = setter
        self._index = index

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        getter = getattr(instance, self._getter)
        return getter() if self._index < 0 else getter(self._index)

    def __set__(self, instance: Any, value: Any) -> None:
        if not self._setter:
            raise AttributeError("this property is read-only")
        setter = getattr(instance, self._setter)
        if self._index < 0:
            setter(value)
        else:
            setter(self._index, value)


# --- objects as values -----------------------------------------------------------------------------------------------


def _read_object(value: Any) -> Any:
    if value.object == ffi.NULL:
        return None
    if value.python != ffi.NULL:
        return ffi.from_handle(value.python)
    return _proxy(_class_of(value), value.object, value.opaque[2], value.owned != 0)


def _write_object(value: Any, given: Any, keep: list[Any]) -> None:
    value.type = OBJECT
    value.object = pointer_of(given)
    keep.append(given)


def _object_writer(class_name: str) -> Function[[Any, Any, list[Any]], None]:
    def write(value: Any, given: Any, keep: list[Any]) -> None:
        if given is None:
            value.type = OBJECT
            value.object = ffi.NULL
        elif isinstance(given, Object):
            _write_object(value, given, keep)
        else:
            raise TypeError(f"expected {class_name} or None, found {type(given).__name__}")

    return write


READERS[OBJECT] = _read_object
TYPED_WRITERS["Object"] = _object_writer("Object")
add_writer(Object, _write_object)
engine_class("Object")
