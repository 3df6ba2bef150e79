"""Engine objects as Python proxies: calls, defaults, references, and what happens after they are
freed.
"""

from __future__ import annotations

import gc
from typing import Any

import pytest
from support.godot_script import compile_script

import godot
from godot import (
    ClassDB,
    Engine,
    FileAccess,
    FreedObjectError,
    Node,
    Performance,
    RDUniform,
    RefCounted,
    Resource,
    Timer,
)


def object_count() -> int:
    gc.collect()
    return int(Performance.get_monitor(Performance.OBJECT_COUNT))


def test_singletons_are_ready_to_use() -> None:
    assert Engine.is_editor_hint() is False
    assert Engine.get_version_info()["major"] == 4


def test_the_class_of_an_object_is_the_nearest_that_the_binding_knows() -> None:
    made = ClassDB.instantiate("AnimatedSprite2D")
    assert made.get_class() == "AnimatedSprite2D"
    assert type(made).__name__ == "CanvasItem"
    made.free()


def test_omitted_arguments_get_the_engines_defaults() -> None:
    parent, child = Node(), Node()
    parent.add_child(child)  # two more parameters
    assert parent.get_child_count() == 1
    assert parent.get_child(0) == child
    parent.free()


def test_properties_go_through_their_accessors() -> None:
    timer = Timer()
    timer.wait_time = 2.5
    timer.name = "Ж"
    assert (timer.wait_time, timer.get_wait_time(), timer.name) == (2.5, 2.5, "Ж")
    with pytest.raises(AttributeError, match="no_such"):
        timer.no_such = 1
    with pytest.raises(AttributeError, match="no_such"):
        _ = timer.no_such
    timer.free()


def test_enum_values_are_attributes_of_the_class() -> None:
    assert Timer.TIMER_PROCESS_IDLE == 1
    assert Node.NOTIFICATION_READY == 13


def test_static_methods_need_no_object() -> None:
    assert FileAccess.file_exists("res://project.godot") is True
    assert FileAccess.open("res://no such file", FileAccess.READ) is None


def test_a_wrong_argument_is_a_type_error_that_names_method_and_position() -> None:
    node = Node()
    with pytest.raises(TypeError, match=r"Node.get_node, argument 1 \(NodePath\): expected str"):
        node.get_node(7)
    with pytest.raises(TypeError, match=r"Node\.add_child.*too few"):
        node.add_child()
    with pytest.raises(TypeError, match=r"add_child.*wrong type"):
        node.add_child("text")
    node.free()


def test_a_class_that_is_not_carried_is_an_error_that_says_where_to_add_it() -> None:
    with pytest.raises(AttributeError, match=r"in_use\.py"):
        _ = godot.AnimatedSprite2D


def test_a_method_whose_hash_differs_is_refused_by_name() -> None:
    from godot.methods import method_bind

    with pytest.raises(RuntimeError, match=r"Node\.add_child is not in Godot .* as Godot 4\."):
        method_bind("Node", "add_child", 12345)


def test_a_method_that_two_threads_reach_first_is_a_method_for_both() -> None:
    import godot.api
    from godot.methods import EngineMethod

    class Named(Resource):
        pass

    unused = EngineMethod(
        "Resource", "get_name", godot.api.members_of("Resource").methods["get_name"]
    )
    Named.get_name = unused  # type: ignore[assignment]
    resource = Resource()
    first = unused.__get__(resource, Named)
    second = unused.__get__(
        resource, Named
    )  # as the thread that looked it up before it was replaced
    assert first() == second() == ""


def test_a_freed_object_is_noticed() -> None:
    node, parent = Node(), Node()
    node.free()
    assert node.is_freed()
    with pytest.raises(FreedObjectError, match="get_child_count"):
        node.get_child_count()
    with pytest.raises(FreedObjectError):
        parent.add_child(node)
    with pytest.raises(FreedObjectError):
        node.free()
    parent.free()


def test_a_freed_object_inside_a_variant_is_none() -> None:
    script = compile_script(
        """
        func make() -> Array:
            var node: Node = Node.new()
            var list: Array = [node]
            node.free()
            return list
        """
    )
    assert script.make() == [None]


def test_proxies_of_one_object_are_equal() -> None:
    parent, child = Node(), Node()
    parent.add_child(child)
    assert parent.get_child(0) == child
    assert len({parent.get_child(0), child}) == 1
    assert parent != child
    parent.free()


class TestRefCounted:
    def test_a_new_one_has_one_reference(self) -> None:
        assert RefCounted().get_reference_count() == 1

    def test_it_goes_with_its_proxy(self) -> None:
        before = object_count()
        held = [RDUniform() for _ in range(100)]
        assert object_count() == before + 100
        del held
        assert object_count() == before

    @pytest.mark.parametrize("how", ["typed", "variant", "array", "argument"])
    def test_passing_it_around_leaks_none(self, how: str) -> None:
        script = compile_script(
            """
            func typed() -> RefCounted:
                return RefCounted.new()

            func array() -> Array:
                return [RefCounted.new()]

            func count(given: RefCounted) -> int:
                return given.get_reference_count()
            """
        )
        before = object_count()
        for _ in range(50):
            if how == "typed":
                assert script.typed().get_reference_count() == 1
            elif how == "variant":
                assert Resource().duplicate(True).get_reference_count() == 1
            elif how == "array":
                assert script.array()[0].get_reference_count() == 1
            else:
                # the proxy, the argument's Variant and the script's own parameter
                assert 2 <= script.count(RefCounted()) <= 3
        assert object_count() == before

    def test_it_is_not_freed_by_hand(self) -> None:
        with pytest.raises(TypeError, match="RefCounted"):
            RefCounted().free()


def test_calling_a_script_by_name() -> None:
    script = compile_script(
        """
        signal changed(value: int)
        var number: int = 4

        func add(a: int, b: int = 10) -> int:
            return a + b + number
        """
    )
    assert script.add(1) == 15
    assert script.add(1, 2) == 7
    script.number = 0
    assert script.number == 0
    heard: list[Any] = []
    script.changed.connect(heard.append)
    script.changed.emit(5)
    assert heard == [5]
    with pytest.raises(TypeError, match="too many"):
        script.add(1, 2, 3)
