"""Python classes as classes of the engine: registration, properties, virtual methods, life and
death.
"""

from __future__ import annotations

import gc
import resource
import weakref
from typing import Any

import pytest
from support.godot_log import engine_errors
from support.godot_script import compile_script

from godot import (
    RANGE,
    ClassDB,
    FreedObjectError,
    Node,
    Object,
    PackedStringArray,
    RefCounted,
    export,
    exposed,
    signal,
)
from godot.classes import engine_class
from godot.command import PythonCommand
from godot.methods import make_method

LIVE: weakref.WeakSet[Any] = weakref.WeakSet()


@exposed
class ClassUnderTest(Node):
    """A class with one of everything.

    And a second paragraph with <markup> & such.
    """

    level = export(
        float, default=0.5, hint=RANGE, hint_string="0,1,0.1", doc="How much.", group="Numbers"
    )
    count = export(int, default=3)
    label = export(str, default="Ж")
    words = export(PackedStringArray, default=())
    table = export(dict)
    other = export(Node)

    pinged = signal(id=int, text=str, doc="Somebody pinged.")
    ponged = signal("anything")

    def __init__(self) -> None:
        self.log: list[Any] = []
        LIVE.add(self)

    @level.setter
    def level(self, value: float) -> float:
        return min(max(value, 0.0), 1.0)

    def add(self, a: int, b: int = 2) -> int:
        """Adds [param a] and [param b]."""
        return a + b

    def mix(self, a: int, b: float, c: str, d: list[Any]) -> str:
        if not d:
            raise ValueError("nothing to mix")
        return f"{a} {b} {c} {d}"

    def fail(self) -> int:
        raise ValueError("no such luck")

    def read_log(self) -> list[Any]:
        return list(self.log)

    def python_only(self):  # no annotations, so the engine does not see it
        return "hidden"

    def _enter_tree(self) -> None:
        self.log.append("enter")

    def _ready(self) -> None:
        self.log.append("ready")

    def _exit_tree(self) -> None:
        self.log.append("exit")

    def _get_configuration_warnings(self) -> PackedStringArray:
        return PackedStringArray(["a warning"])

    def _notification(self, what: int) -> None:
        if what == Node.NOTIFICATION_PARENTED:
            self.log.append("parented")


@exposed
class ChildUnderTest(ClassUnderTest):
    def add(self, a: int, b: int = 2) -> int:
        return super().add(a, b) * 10

    def extra(self) -> str:
        return "extra"


@pytest.fixture
def made() -> Any:
    made = ClassUnderTest()
    yield made
    if not made.is_freed():
        made.free()


def property_info(class_name: str, name: str) -> dict[str, Any]:
    return next(
        info for info in ClassDB.class_get_property_list(class_name, True) if info["name"] == name
    )


def test_the_engine_knows_the_class() -> None:
    assert ClassDB.class_exists("ClassUnderTest")
    assert ClassDB.get_parent_class("ChildUnderTest") == "ClassUnderTest"
    assert ClassDB.class_has_method("ClassUnderTest", "add")
    assert not ClassDB.class_has_method("ClassUnderTest", "python_only")
    assert ClassDB.class_get_signal("ClassUnderTest", "pinged")["args"][1]["type"] == 4


def test_properties_have_hints_defaults_and_types() -> None:
    info = property_info("ClassUnderTest", "level")
    assert (info["type"], info["hint"], info["hint_string"]) == (3, RANGE, "0,1,0.1")
    assert property_info("ClassUnderTest", "other")["class_name"] == "Node"
    # The engine makes an object to find defaults, which it does only for classes of the start.
    assert ClassDB.class_get_property_default_value("PythonCommand", "arguments") == []
    assert ClassDB.class_get_property_default_value("PythonCommand", "module") == ""


def test_properties_from_gdscript(made: Any) -> None:
    script = compile_script(
        """
        func check(node: ClassUnderTest) -> Array:
            node.level = 7.0
            node.count = -4
            node.label = "new"
            node.words = PackedStringArray(["a"])
            node.table["lost"] = 1
            node.table = {"kept": 1}
            node.other = node
            return [node.level, node.count, node.label, node.words, node.table, node.other == node]
        """
    )
    assert script.check(made) == [1.0, -4, "new", ["a"], {"kept": 1}, True]
    assert made.level == 1.0
    assert made.other is made


def test_properties_of_two_instances_are_their_own() -> None:
    one, two = ClassUnderTest(), ClassUnderTest()
    one.table["a"] = 1
    one.count = 9
    assert (two.table, two.count) == ({}, 3)
    one.free()
    two.free()


def test_a_property_refuses_another_type(made: Any) -> None:
    with pytest.raises(TypeError, match="expected int"):
        made.count = "many"


def test_methods_from_gdscript_typed_and_by_name(made: Any) -> None:
    script = compile_script(
        """
        func check(node: ClassUnderTest) -> Array:
            return [node.add(1), node.add(1, 5), node.call("add", 1), node.callv("add", [2, 3])]
        """
    )
    assert script.check(made) == [3, 6, 3, 5]


def test_a_class_may_inherit_an_exposed_one() -> None:
    made = ChildUnderTest()
    script = compile_script(
        """
        func check(node: ChildUnderTest) -> Array:
            return [node.add(1), node.extra(), node.count, node.is_class("ClassUnderTest")]
        """
    )
    assert script.check(made) == [30, "extra", 3, True]
    made.free()


def test_a_script_may_inherit_an_exposed_class() -> None:
    made = compile_script(
        """
        extends PythonCommand

        func twice() -> String:
            return module + module
        """
    )
    made.module = "ab"
    assert made.twice() == "abab"
    assert isinstance(made, PythonCommand)
    made.free()


def test_wrong_calls_are_refused_before_python_runs(made: Any) -> None:
    script = compile_script('func check(node: Node) -> Variant:\n\treturn node.call("add", "text")')
    with engine_errors() as errors:
        assert script.check(made) is None
    assert "from String to int" in errors[0]["code"]
    with engine_errors(), pytest.raises(TypeError, match="too few arguments, 1 wanted"):
        Object.call(made, "add")


def test_virtual_methods_and_notifications_arrive(node: Any, made: Any) -> None:
    node.add_child(made)
    node.remove_child(made)
    assert made.log[0] == "parented"
    assert [entry for entry in made.log if entry != "parented"] == ["enter", "ready", "exit"]


def test_an_exception_arrives_in_the_log_and_the_call_returns_a_default(made: Any) -> None:
    script = compile_script(
        """
        func check(node: ClassUnderTest) -> Array:
            return [node.fail(), node.call("fail")]
        """
    )
    with engine_errors() as errors:
        assert script.check(made) == [0, 0]
    assert len(errors) == 2
    for error in errors:
        assert error["function"] == "ClassUnderTest.fail"
        assert error["file"].endswith("test_godot_classes.py")
        assert error["line"] == ClassUnderTest.fail.__code__.co_firstlineno + 1
        assert error["code"] == "ValueError: no such luck"
        assert error["text"].startswith("Traceback (most recent call last):")


def test_an_exception_in_init_is_reported_and_the_object_lives() -> None:
    @exposed
    class FailsInInit(Node):
        def __init__(self) -> None:
            raise RuntimeError("half made")

    with engine_errors() as errors:
        made = FailsInInit()
    assert errors[0]["code"] == "RuntimeError: half made"
    assert made.get_class() == "FailsInInit"
    made.free()


class TestLife:
    def test_the_python_object_lives_as_long_as_the_engines(self, node: Any) -> None:
        gc.collect()
        before = len(LIVE)
        node.add_child(ClassUnderTest())
        gc.collect()
        assert len(LIVE) == before + 1
        child = node.get_child(node.get_child_count() - 1)
        assert child.log[0] == "parented"
        child.free()
        del child
        gc.collect()
        assert len(LIVE) == before

    def test_a_freed_instance_is_noticed(self) -> None:
        made = ClassUnderTest()
        made.free()
        assert made.is_freed()
        with pytest.raises(FreedObjectError):
            made.get_parent()
        assert made.count == 3  # Python's own side is still there

    def test_ten_thousand_nodes_leave_nothing_behind(self) -> None:
        script = compile_script(
            """
            func churn(count: int) -> void:
                for i: int in count:
                    var node: PythonCommand = PythonCommand.new()
                    node.module = "a text of some length %d" % i
                    node.arguments = PackedStringArray([node.module, str(i)])
                    node.set_meta("node", node)
                    node.free()
            """
        )
        script.churn(2_000)  # fills caches and free lists
        before = live_commands(), memory_kib()
        script.churn(10_000)
        assert live_commands() == before[0]
        # A leak of one reference to each node would cost over 1 KiB a node.
        assert memory_kib() - before[1] < 2_000

    def test_references_to_engine_values_leave_nothing_behind(self, made: Any) -> None:
        def churn(count: int) -> None:
            for i in range(count):
                made.set_meta("value", [b"x" * 500, {"k": f"text {i}"}, RefCounted(), made.add])
                made.get_meta("value", None)

        churn(1_000)
        before = memory_kib()
        churn(5_000)
        assert memory_kib() - before < 1_000


def live_commands() -> int:
    gc.collect()
    return sum(type(found) is PythonCommand for found in gc.get_objects())


def memory_kib() -> int:
    """Memory in use now, not at most."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() // 1024


@pytest.mark.parametrize(
    ("base", "message"),
    [
        pytest.param(object, "must inherit an engine class", id="no engine class"),
        pytest.param(
            type("Plain", (Node,), {}), "neither the engine's nor exposed", id="a class between"
        ),
    ],
)
def test_a_class_that_cannot_be_exposed_is_refused(base: type, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        exposed(type("CannotBe", (base,), {}))


def test_a_name_is_taken_once() -> None:
    with pytest.raises(TypeError, match="ClassUnderTest already"):
        exposed(type("ClassUnderTest", (Node,), {}))


def test_an_object_that_is_no_node_can_be_exposed() -> None:
    @exposed
    class PlainObject(Object):
        def answer(self) -> int:
            return 42

    made = PlainObject()
    script = compile_script("func check(o: PlainObject) -> int:\n\treturn o.answer()")
    assert script.check(made) == 42
    made.free()


def test_typed_calls_of_the_engine(made: Any) -> None:
    """Other extensions call through typed pointers; so does our own binding, given the method's
    hash.
    """
    flags = 0
    call = make_method(
        "ClassUnderTest", "mix", mix_hash(), flags, "String", ("int", "float", "String", "Array")
    )
    assert call(made, 2**40, 0.5, "Ж", [1, {"a": 2}]) == f"{2**40} 0.5 Ж [1, {{'a': 2}}]"
    with engine_errors() as errors:
        assert call(made, 0, 0.0, "", []) == ""
    assert errors[0]["code"] == "ValueError: nothing to mix"
    assert engine_class("Node") is Node


def mix_hash() -> int:
    """MethodBind::get_hash of ClassUnderTest.mix: a result and four arguments without classes or
    defaults.
    """
    string, integer, real, array = 4, 2, 3, 28
    state = 0x7F07C65
    for word in (1, 4, string, integer, real, string, array, 0, 0, 0):
        state = murmur3_one(word, state)
    state ^= state >> 16
    state = state * 0x85EBCA6B & 0xFFFFFFFF
    state ^= state >> 13
    state = state * 0xC2B2AE35 & 0xFFFFFFFF
    return state ^ state >> 16


def murmur3_one(word: int, state: int) -> int:
    """One round of MurmurHash3 (Appleby), as the engine's hash_murmur3_one_32."""
    word = word * 0xCC9E2D51 & 0xFFFFFFFF
    word = (word << 15 | word >> 17) & 0xFFFFFFFF
    state ^= word * 0x1B873593 & 0xFFFFFFFF
    state = (state << 13 | state >> 19) & 0xFFFFFFFF
    return (state * 5 + 0xE6546B64) & 0xFFFFFFFF
